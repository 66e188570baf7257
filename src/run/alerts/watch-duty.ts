import { randomUUID } from 'node:crypto'
import type { Clock, Random } from '../../clock.js'
import type { Log } from '../../log.js'
import { WATCH_KEY, WATCH_READY_KEY } from '../../observe/note-keys.js'
import { SPANS } from '../../observe/series/series.js'
import { warnUnlessAway } from '../../while-away.js'
import type { Backends } from '../../wire/backends.js'
import { type DriftChecks, driftChecks, pauseAfterCheck } from '../duties/drift-watch.js'
import { openChannels } from './alert-channels.js'
import { alertDelivery } from './alert-delivery.js'
import { takeOver, type Watch } from './alert-watch.js'
import type { AlertsSetup } from './load-alerts.js'

export interface WatchParts {
  readonly alerts: AlertsSetup
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
  /** If the process also checks for drift, so that nothing is reported twice. */
  readonly drifts?: DriftChecks
}

const ROUND_MS: number = SPANS['30m']
/** A watcher that dies is replaced after this. */
const HELD_MS = 10_000
/** Spreads the candidates out. */
const SPREAD_MS = 4_000
/** How long a candidate's note that it has alert channels is valid. */
const READY_MS = 20_000
/** For the last snapshot and the last deliveries when the process ends. */
const LAST_ROUND_MS = 2_000
const LAST_DELIVERY_MS = 3_000
/** The log is a channel like the others. */
const LOG = 'log'

/**
 * One process of the fleet at a time takes a snapshot of every crawl, stores samples and evaluates the rules; every process is a candidate. A process without
 * channels leaves the job to one that has some. Ends soon after the signal, with a last round.
 */
export async function startWatchDuty(backends: Backends, parts: WatchParts): Promise<void> {
  const { clock, random, log, signal } = parts
  const { notes } = backends
  const author = randomUUID()
  const hasChannels = parts.alerts.webhooks.length + parts.alerts.commands.length > 0

  /** How long to wait before the next try; null: this process is the watcher. */
  const candidate = async (): Promise<number | null> => {
    if (!hasChannels && (await notes.read(WATCH_READY_KEY)) !== null) return ROUND_MS
    const claim = await notes.claim(WATCH_KEY, author, 0, HELD_MS)
    if (claim.kind === 'yours') return null
    // Under one name for all of them, so that each post replaces the previous note.
    if (hasChannels) await notes.post(WATCH_READY_KEY, 'candidates', String(clock.now()), READY_MS)
    return claim.kind === 'taken' ? claim.waitMs + random() * SPREAD_MS : ROUND_MS
  }

  while (!signal.aborted) {
    let waitMs = ROUND_MS
    try {
      waitMs = (await candidate()) ?? (await watchOn(backends, { ...parts, author, hasChannels }))
    } catch (error) {
      warnUnlessAway(log, error)
    }
    await clock.sleep(waitMs, signal)
  }
}

type OwnParts = WatchParts & { readonly author: string; readonly hasChannels: boolean }

/** As long as this process is the watcher. Answers how long to wait before the next try. */
async function watchOn(backends: Backends, parts: OwnParts): Promise<number> {
  const { clock, log, signal, author, hasChannels } = parts
  const { notes } = backends
  const { channels, close } = await openChannels(parts.alerts, clock)
  const watch = await takeOver(backends, parts).catch(async (error: unknown) => {
    await close()
    await atMost(LAST_ROUND_MS, clock, () => notes.drop(WATCH_KEY, author))
    throw error
  })
  const delivery = alertDelivery({ ...parts, clock: backends.queueClock, channels, onDelivered: watch.delivered })
  const names = [LOG, ...channels.map(({ name }) => name)]
  const over = new AbortController()
  const drifts = checkForDrift(watch, parts.drifts ?? driftChecks(backends.store, log), parts, over.signal)

  /** False: another process is the watcher now. Starts and ends are in the shared notes before they are delivered: twice rather than never. */
  const round = async (): Promise<boolean> => {
    if (!(await watch.round())) return false
    const isNew = writeLogLine(watch, log)
    delivery.send(watch.undelivered)
    watch.settle(names)
    return !isNew || (await watch.post())
  }

  try {
    while (!signal.aborted) {
      const began = clock.mono()
      if ((await notes.claim(WATCH_KEY, author, 0, HELD_MS)).kind !== 'yours' || !(await round())) return ROUND_MS
      if (!hasChannels && (await notes.read(WATCH_READY_KEY)) !== null) return READY_MS
      await clock.sleep(Math.max(0, ROUND_MS - (clock.mono() - began)), signal)
    }
    await atMost(LAST_ROUND_MS, clock, round)
    return 0
  } finally {
    over.abort()
    await delivery.finish(signal.aborted ? LAST_DELIVERY_MS : 0)
    watch.settle(names)
    await atMost(LAST_ROUND_MS, clock, async () => {
      if (await watch.post()) await notes.drop(WATCH_KEY, author)
    })
    await drifts
    await close()
  }
}

function writeLogLine(watch: Watch, log: Log): boolean {
  const anew = watch.undelivered.filter(({ delivered }) => !delivered.includes(LOG))
  for (const { id, event, alert } of anew) {
    const { rule, severity, about, crawl, spider, message, next, fields } = alert
    const level = event === 'alert.began' && severity === 'critical' ? 'error' : 'warn'
    log[level](event, { rule, severity, about, crawl, spider, message, next, fields })
    watch.delivered(id, LOG)
  }
  return anew.length > 0
}

/** Drift compares whole hours and reads all rows of a spider: alongside the rounds, and rarely. */
async function checkForDrift(
  watch: Watch,
  check: DriftChecks,
  { clock, log }: Pick<WatchParts, 'clock' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  for (let tookMs = 0; ; ) {
    await clock.sleep(pauseAfterCheck(tookMs), signal)
    if (signal.aborted) return
    const began = clock.mono()
    try {
      for (const spider of watch.spiders) watch.drifts.set(spider, await check(spider, { signal }))
      tookMs = clock.mono() - began
    } catch (error) {
      if (!signal.aborted) warnUnlessAway(log, error)
    }
  }
}

/** A process that ends waits for nothing without a limit. */
async function atMost(ms: number, clock: Clock, work: () => Promise<unknown>): Promise<void> {
  const done = new AbortController()
  const worked = work()
    .catch(() => {})
    .finally(() => done.abort())
  await Promise.race([worked, clock.sleep(ms, done.signal)])
}
