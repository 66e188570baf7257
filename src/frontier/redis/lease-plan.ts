import type { LeaseReply, LeaseRequest, WorkerId } from '../frontier.js'

/** One question of a lease call over several shards. Only one that is alone gets a link that must be leased alone. */
export interface LeasePart {
  readonly shard: number
  readonly want: number
  /** Links that the call has got from other shards before: they count as pages that the worker fetches (turns.ts). */
  readonly before: number
  readonly round: '' | '.1' | '.2'
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

/**
 * Which shard a lease call asks for how many links, and the same again when its reply was lost. It asks one shard for everything, each call another one, and the
 * next only for what is missing: a call that asked all of them for a part each cost every server as much as one server alone.
 */
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
    if (this.#shards === 1) return ask({ shard: 0, want, before: 0, round: '', alone: true })
    const last = this.#last.get(worker)
    const plan: LeasePlan = last?.seq === seq ? last : { seq, parts: [], complete: false }
    this.#last.set(worker, plan)
    const answered = async (part: LeasePart) => ({ part, reply: await ask(part) })
    // The reply was lost: the same questions to the same shards, and no others.
    const replies: PartReply[] = await Promise.all(plan.parts.map(answered))
    const leased = () => replies.reduce((sum, { reply }) => sum + reply.leases.length, 0)
    const askOneMore = async (part: LeasePart) => {
      plan.parts.push(part)
      replies.push(await answered(part))
    }
    if (!plan.complete) {
      const asked = plan.parts.map(({ shard }) => shard)
      for (const shard of turnOrder(seq, this.#shards)) {
        if (asked.includes(shard)) continue
        const before = leased()
        if (before >= want && plan.parts.length > 0) break
        await askOneMore({ shard, want: want - before, before, round: '.1', alone: false })
      }
      // A link that killed workers waits to be leased alone, which means by a worker that holds nothing in any shard.
      const waiting = replies.find(({ reply }) => reply.drain)
      if (waiting !== undefined && want > 0 && leased() === 0 && (await holdsNothing())) {
        await askOneMore({ shard: waiting.part.shard, want: 1, before: 0, round: '.2', alone: true })
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
