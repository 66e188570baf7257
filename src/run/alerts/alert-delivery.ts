import type { Clock, Random } from '../../clock.js'
import { asShoalError } from '../../errors.js'
import type { Log } from '../../log.js'
import { UNDELIVERED_KEPT_MS, type Undelivered } from '../../observe/alerts/alert-notes.js'
import type { AlertChannel, AlertDelivered, AlertMessage } from '../../observe/alerts/deliver-alert.js'
import { pauseAfter } from '../../outlets/backoff.js'

export interface AlertDelivery {
  /** Delivers to every channel that does not have it yet; deliveries in progress are left alone. */
  send(undelivered: readonly Undelivered[]): void
  /** Waits this long for deliveries in progress; the rest is left to the next watcher. */
  finish(withinMs: number): Promise<void>
}

export interface DeliveryParts {
  readonly channels: readonly AlertChannel[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** The channel has it, or will never accept it. */
  readonly onDelivered: (id: string, channel: string) => void
}

/** Each channel on its own, in the order of events: one that is down does not delay the others. */
export function alertDelivery({ channels, clock, random, log, onDelivered }: DeliveryParts): AlertDelivery {
  const stop = new AbortController()
  const lines = channels.map((channel) => ({
    channel,
    waiting: [] as Undelivered[],
    known: new Set<string>(),
    busy: false,
  }))
  let idle = () => {}

  const deliver = async (channel: AlertChannel, { id, event, alert, at }: Undelivered): Promise<void> => {
    const lose = (message: string) =>
      log.warn('alert.undelivered', { channel: channel.name, id, rule: alert.rule, message })
    for (let failures = 1; ; failures++) {
      const result = await deliveredBy(channel, { id, event, test: false, at, alert }, stop.signal)
      if (stop.signal.aborted && result.kind !== 'delivered') return
      if (result.kind === 'delivered') return onDelivered(id, channel.name)
      if (result.kind === 'rejected' || clock.now() - at > UNDELIVERED_KEPT_MS) {
        lose(result.message)
        return onDelivered(id, channel.name)
      }
      if (failures === 1) lose(`${result.message}; retrying`)
      await clock.sleep(pauseAfter(failures, result.retryAfterMs, random), stop.signal)
      if (stop.signal.aborted) return
    }
  }

  const work = async (line: (typeof lines)[number]): Promise<void> => {
    line.busy = true
    try {
      for (let next = line.waiting[0]; next !== undefined && !stop.signal.aborted; next = line.waiting[0]) {
        await deliver(line.channel, next)
        line.waiting.shift()
      }
    } finally {
      line.busy = false
      if (lines.every(({ busy }) => !busy)) idle()
    }
  }

  return {
    send(undelivered) {
      for (const line of lines) {
        for (const one of undelivered) {
          if (line.known.has(one.id) || one.delivered.includes(line.channel.name)) continue
          line.known.add(one.id)
          line.waiting.push(one)
        }
        // What the note no longer has need not be remembered here.
        const current = new Set(undelivered.map(({ id }) => id))
        for (const id of line.known) if (!current.has(id)) line.known.delete(id)
        if (!line.busy && line.waiting.length > 0) void work(line)
      }
    },
    async finish(withinMs) {
      const done = new Promise<void>((resolve) => {
        idle = resolve
      })
      const cancel = clock.after(withinMs, () => stop.abort())
      if (lines.some(({ busy }) => busy)) await done
      cancel()
      stop.abort()
    },
  }
}

/** A channel must not throw; if one does, neither the process nor its other deliveries end. */
async function deliveredBy(channel: AlertChannel, message: AlertMessage, signal: AbortSignal): Promise<AlertDelivered> {
  try {
    return await channel.deliver(message, signal)
  } catch (error) {
    return { kind: 'down', message: asShoalError(error).message }
  }
}
