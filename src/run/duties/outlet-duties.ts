import type { Clock, Random } from '../../clock.js'
import { asShoalError, ShoalError } from '../../errors.js'
import type { Fetcher } from '../../fetch/fetcher.js'
import type { Log } from '../../log.js'
import type { Outlet } from '../../outlets/outlet.js'
import { type PumpEnd, type PumpTiming, pump } from '../../outlets/pump.js'
import type { Sink } from '../../outlets/sink.js'
import { webhookSink } from '../../outlets/webhook.js'
import { checkedSecret } from '../../outlets/webhook-signature.js'
import { secretIn } from '../../secret-file.js'
import type { RecordStore } from '../../store/record-store.js'
import { openRedisSink } from '../../wire/sinks.js'
import { isGone, workerIds } from '../workers/worker-ids.js'

export interface OutletParts {
  readonly store: Pick<RecordStore, 'changes' | 'outlets'>
  /** Address of the queue: Redis outlets without an address of their own use it. */
  readonly queue: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly timing?: PumpTiming
  readonly mostFailures?: number
}

export interface OutletDuties {
  /** Delivers the rest within this time (null: no limit), then ends. It can be called again with less time. */
  finish(withinMs: number | null): Promise<void>
  /** How each ended; resolves when all have. */
  readonly ended: Promise<readonly OutletEnd[]>
}

export interface OutletEnd {
  readonly outlet: string
  readonly end: PumpEnd
}

/** Feeds the sinks of the spiders until `finish`. A sink that is down delays no other. */
export async function startOutletDuties(outlets: readonly Outlet[], parts: OutletParts): Promise<OutletDuties> {
  const { store, clock, random, log } = parts
  const finish = new AbortController()
  const stop = new AbortController()
  const holder = workerIds(random)()
  const { sinks, close } = await openSinks(outlets, parts)

  const feed = async (outlet: Outlet, sink: Sink): Promise<OutletEnd> => {
    const signals = { finish: finish.signal, stop: stop.signal }
    const { timing, mostFailures } = parts
    const end = await pump({
      ...{ outlet, store, sink, holder, isGone, clock, random, log, ...signals },
      ...(timing !== undefined && { timing }),
      ...(mostFailures !== undefined && { mostFailures }),
    })
    return { outlet: outlet.name, end }
  }
  const ended = Promise.all(sinks.map(([outlet, sink]) => feed(outlet, sink))).finally(close)
  // `finish` and `ended` reject; until someone awaits them, that is no unhandled rejection.
  ended.catch(() => {})

  return {
    ended,
    async finish(withinMs) {
      finish.abort()
      const cancel = withinMs === null ? () => {} : clock.after(Math.max(0, withinMs), () => stop.abort())
      try {
        await ended
      } finally {
        cancel()
      }
    },
  }
}

/** A wrong address or a missing secret is reported here, before anything starts. */
export async function openSinks(
  outlets: readonly Outlet[],
  { queue, clock }: Pick<OutletParts, 'queue' | 'clock'>,
): Promise<{ sinks: readonly (readonly [Outlet, Sink])[]; close(): Promise<void> }> {
  const secrets = new Map(outlets.map((outlet) => [outlet, secretOf(outlet)]))
  // Loaded for webhooks only: the main thread of every other run does without the fetcher.
  const fetcher = outlets.some(({ to }) => to === 'webhook') ? await httpFetcher(clock) : null
  const sinks = outlets.map((outlet): readonly [Outlet, Sink] => {
    if (outlet.to !== 'webhook') return [outlet, openRedisSink(outlet, queue, clock)]
    if (fetcher === null) throw new Error('a webhook needs a fetcher')
    return [outlet, webhookSink(outlet, { fetcher, clock, secret: secrets.get(outlet) ?? null })]
  })
  return {
    sinks,
    async close() {
      for (const [, sink] of sinks) await sink.close()
      await fetcher?.close()
    },
  }
}

async function httpFetcher(clock: Clock): Promise<Fetcher> {
  const { createHttpFetcher } = await import('../../fetch/http/http-fetcher.js')
  return createHttpFetcher({ clock })
}

function secretOf(outlet: Outlet): string | null {
  if (outlet.to !== 'webhook' || outlet.secretEnv === null) return null
  const source = `outlet ${outlet.name}: the environment variable ${outlet.secretEnv}`
  const secret = secretIn(outlet.secretEnv, process.env)?.value
  return checkedSecret(secret, (fault) => new ShoalError('outlet_secret', `${source} ${fault}`))
}

/** At the end of a command with workers: undelivered records wait in the store, which is no reason to fail. */
export async function finishOutlets(duties: OutletDuties | null, withinMs: number, log: Log): Promise<void> {
  if (duties === null) return
  try {
    await duties.finish(withinMs)
    for (const { outlet, end } of await duties.ended)
      if ('message' in end) log.warn('outlet.behind', { outlet, message: end.message })
  } catch (error) {
    log.warn('outlet.failed', { message: asShoalError(error).message })
  }
}
