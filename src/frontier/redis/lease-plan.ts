import type { LeaseReply, LeaseRequest, WorkerId } from '../frontier.js'

/** One question of a lease call over several shards. Only one that is alone gets a link that must be leased alone. */
export interface LeasePart {
  readonly shard: number
  readonly want: number
  readonly round: '' | '.1' | '.2' | '.3'
  readonly alone: boolean
}

export interface PartReply {
  readonly part: LeasePart
  readonly reply: LeaseReply
}

interface LeasePlan {
  readonly seq: number
  readonly parts: LeasePart[]
  complete: boolean
}

type Ask = (part: LeasePart) => Promise<LeaseReply>

/** Which shard a lease call asks for how many links, and the same again when its reply was lost. */
export class LeasePlans {
  readonly #shards: number
  readonly #last = new Map<WorkerId, LeasePlan>()

  constructor(shards: number) {
    this.#shards = shards
  }

  async lease(
    { worker, seq, want }: LeaseRequest,
    ask: Ask,
    holdsNothing: () => Promise<boolean>,
  ): Promise<LeaseReply> {
    if (this.#shards === 1) return ask({ shard: 0, want, round: '', alone: true })
    const last = this.#last.get(worker)
    const plan: LeasePlan = last?.seq === seq ? last : { seq, parts: [], complete: false }
    this.#last.set(worker, plan)
    const askAll = (parts: readonly LeasePart[]) =>
      Promise.all(parts.map(async (part) => ({ part, reply: await ask(part) })))
    // The reply was lost: the same questions to the same shards, and no others.
    const replies: PartReply[] = await askAll(plan.parts)
    const missing = () => want - replies.reduce((sum, { reply }) => sum + reply.leases.length, 0)
    const askMore = async (parts: readonly LeasePart[]) => {
      plan.parts.push(...parts)
      replies.push(...(await askAll(parts)))
    }
    if (!plan.complete) {
      const asked = plan.parts.map(({ shard }) => shard)
      const order = turnOrder(seq, this.#shards).filter((shard) => !asked.includes(shard))
      const share = firstShare(want, this.#shards)
      for (let from = 0; from < order.length && (missing() > 0 || plan.parts.length === 0); ) {
        const some = order.slice(from, from + (want < this.#shards ? Math.max(1, missing()) : order.length))
        from += some.length
        await askMore(some.map((shard) => ({ shard, want: share, round: '.1', alone: false })))
      }
      if (plan.parts.every(({ round }) => round === '.1')) await askMore(restParts(replies, missing()))
      // A link that killed workers waits to be leased alone, which means by a worker that holds nothing in any shard.
      const waiting = replies.find(({ reply }) => reply.drain)
      if (waiting !== undefined && want > 0 && missing() === want && (await holdsNothing())) {
        await askMore([{ shard: waiting.part.shard, want: 1, round: '.3', alone: true }])
      }
      plan.complete = true
    }
    return merge(replies)
  }
}

/** Each call begins with another shard, so that none is always asked last. */
export function turnOrder(seq: number, shards: number): number[] {
  return Array.from({ length: shards }, (_, nth) => (seq + nth) % shards)
}

/** First an equal part of every shard, or one link each of as many shards as are needed. */
export function firstShare(want: number, shards: number): number {
  return Math.min(want, Math.max(1, Math.floor(want / shards)))
}

/** Then the rest, of those shards that had as much as they were asked for. */
export function restParts(replies: readonly PartReply[], rest: number): LeasePart[] {
  const open = replies.filter(({ part, reply }) => part.round === '.1' && reply.leases.length >= part.want)
  return open.flatMap(({ part }, nth): LeasePart[] => {
    const want = Math.floor(rest / open.length) + (nth < rest % open.length ? 1 : 0)
    return want > 0 ? [{ shard: part.shard, want, round: '.2', alone: false }] : []
  })
}

/** A worker that got the link to be leased alone need not drain for it. */
export function merge(replies: readonly PartReply[]): LeaseReply {
  const leases = replies.flatMap(({ reply }) => reply.leases)
  const holdsAlone = replies.at(-1)?.part.alone === true && leases.length > 0
  return {
    leases,
    idleMs: Math.min(...replies.map(({ reply }) => reply.idleMs)),
    drain: !holdsAlone && replies.some(({ reply }) => reply.drain),
  }
}
