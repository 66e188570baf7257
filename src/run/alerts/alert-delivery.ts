import type { Clock, Random } from '../../clock.js'
import { asShoalError } from '../../errors.js'
import type { Log } from '../../log.js'
import { UNTOLD_KEPT_MS, type Undelivered } from '../../observe/alerts/alert-notes.js'
import type { AlertChannel, AlertDelivered, AlertMessage } from '../../observe/alerts/deliver-alert.js'
import { pauseAfter } from '../../outlets/backoff.js'

export interface AlertDelivery {
  /** Tells it to every channel that does not have it yet; what is on its way already is left alone. */
  send(undelivered: readonly Undelivered[]): void
  /** Waits for what is on its way, so long; the rest is the next watcher's. */
  finish(withinMs: number): Promise<void>
}

export interface DeliveryParts {
  readonly channels: readonly AlertChannel[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** The channel has it, or will never take it. */
  readonly onDelivered: (id: string, channel: string) => void
}

/** Each channel by itself, in the order in which things happened: one that is away holds up nobody else. */
export function alertDelivery({ channels, clock, random, log, onDelivered }: DeliveryParts): AlertDelivery {
  const stop = new AbortController()
  const lines = channels.map((channel) => ({
    channel,
    waiting: [] as Undelivered[],
    known: new Set<string>(),
    busy: false,
  }))
  let idle = () => {}

  const tell = async (channel: AlertChannel, { id, event, alert, at }: Undelivered): Promise<void> => {
    const lose = (message: string) =>
      log.warn('alert.undelivered', { channel: channel.name, id, rule: alert.rule, message })
    for (let failures = 1; ; failures++) {
      const told = await toldBy(channel, { id, event, test: false, at, alert }, stop.signal)
      if (stop.signal.aborted && told.kind !== 'told') return
      if (told.kind === 'told') return onDelivered(id, channel.name)
      if (told.kind === 'refused' || clock.now() - at > UNTOLD_KEPT_MS) {
        lose(told.message)
        return onDelivered(id, channel.name)
      }
      if (failures === 1) lose(`${told.message}; it is tried again`)
      await clock.sleep(pauseAfter(failures, told.retryAfterMs, random), stop.signal)
      if (stop.signal.aborted) return
    }
  }

  const work = async (line: (typeof lines)[number]): Promise<void> => {
    line.busy = true
    try {
      for (let next = line.waiting[0]; next !== undefined && !stop.signal.aborted; next = line.waiting[0]) {
        await tell(line.channel, next)
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
          if (line.known.has(one.id) || one.told.includes(line.channel.name)) continue
          line.known.add(one.id)
          line.waiting.push(one)
        }
        // What the note has forgotten need not be remembered here.
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

/** A channel must not throw; one that does all the same ends neither the process nor the line of what it is to be told. */
async function toldBy(channel: AlertChannel, message: AlertMessage, signal: AbortSignal): Promise<AlertDelivered> {
  try {
    return await channel.tell(message, signal)
  } catch (error) {
    return { kind: 'away', message: asShoalError(error).message }
  }
}
