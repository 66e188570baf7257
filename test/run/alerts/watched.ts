import { ManualClock, seededRandom } from '../../../src/clock.js'
import type { CrawlSpec, Lease, Outcome } from '../../../src/frontier/frontier.js'
import type { Log } from '../../../src/log.js'
import type { Notes } from '../../../src/notes/notes.js'
import type { AlertRule } from '../../../src/observe/alerts/alert.js'
import { readAlerts } from '../../../src/observe/alerts/alert-notes.js'
import { parseAlertsFile } from '../../../src/observe/alerts/alerts-file.js'
import { type AlertsSetup, NO_CHANNELS } from '../../../src/run/alerts/load-alerts.js'
import { startWatchDuty } from '../../../src/run/alerts/watch-duty.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { linkTo, specOf } from '../../contract/frontier-fixtures.js'

/** One rule alone, as a file of alerts sets it: what else happens in the test is not its matter. */
export function only(rule: AlertRule, given: object = {}): AlertsSetup {
  const all = Object.fromEntries(Object.keys(NO_CHANNELS.rules).map((name) => [name, false]))
  const text = JSON.stringify({ rules: { ...all, [rule]: given } })
  return { ...NO_CHANNELS, rules: parseAlertsFile(text, 'alerts.json').rules }
}

interface Watcher {
  /** In order. */
  stop(): Promise<void>
  /** It reaches nothing any more. */
  kill(): void
  /** Killed right after it has put up a note that holds this text. */
  killAfter(text: string): void
}

export interface Watched {
  readonly backends: Backends
  readonly clock: ManualClock
  /** `alert.began rule` and `alert.ended rule`, in order. */
  readonly told: string[]
  readonly active: () => Promise<string[]>
  /** Time passes, five seconds at a time, with `each` before each of them. */
  pass(seconds: number, each?: (second: number) => Promise<unknown>): Promise<void>
  /** Another process that may watch; `told`: its log. */
  watch(alerts: AlertsSetup, told: string[]): Watcher
  readonly first: Watcher
  close(): Promise<void>
}

/** As often as the watcher looks. */
const STEP_SECONDS = 5

/** A backends in memory with a clock that is moved by hand. */
export async function watched(alerts: AlertsSetup = NO_CHANNELS, spec: Partial<CrawlSpec> = {}): Promise<Watched> {
  const clock = new ManualClock()
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' }, { clock })
  await backends.frontier.open(specOf({ id: 'crawl', ...spec }))
  const told: string[] = []
  const ends: (() => Promise<void>)[] = []
  const pass: Watched['pass'] = async (seconds, each) => {
    for (let second = 0; second < seconds; second += STEP_SECONDS) {
      await each?.(second)
      clock.advance(STEP_SECONDS * 1_000)
      await settled()
    }
  }
  const watch: Watched['watch'] = (given, into) => {
    const end = new AbortController()
    const random = seededRandom(ends.length + 1)
    const life = { over: false, until: null as string | null }
    const own: Backends = { ...backends, notes: mortal(backends.notes, life), capacity: () => backends.capacity() }
    const duties = startWatchDuty(own, { alerts: given, clock, random, log: logInto(into), signal: end.signal })
    const stop = async () => {
      end.abort()
      if (!life.over) await duties
    }
    ends.push(stop)
    return {
      stop,
      kill() {
        life.over = true
      },
      killAfter(text) {
        life.until = text
      },
    }
  }
  const first = watch(alerts, told)
  await settled()
  return {
    ...{ backends, clock, told, pass, watch, first },
    active: async () => (await readAlerts(backends.notes)).active.map(({ rule, about }) => `${rule} ${about}`),
    async close() {
      for (const end of ends) await end()
      await backends.close()
    },
  }
}

function mortal(notes: Notes, life: { over: boolean; until: string | null }): Notes {
  const never = new Promise<never>(() => {})
  const alive = async <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    if (life.over) return never
    const answer = await call()
    return life.over ? never : answer
  }
  return {
    claim: (...args) => alive(() => notes.claim(...args)),
    drop: (...args) => alive(() => notes.drop(...args)),
    read: (...args) => alive(() => notes.read(...args)),
    post: (...args) =>
      alive(() => {
        if (life.until !== null && args[2].includes(life.until)) life.over = true
        return notes.post(...args)
      }),
  }
}

export function logInto(told: string[]): Log {
  const note: Log['warn'] = (event, fields) =>
    void told.push(`${event} ${String(fields?.rule ?? fields?.channel ?? fields?.message ?? '')}`)
  return { verbose: false, debug() {}, info() {}, warn: note, error: note, spider() {} }
}

/** All that waits for nothing but its turn has had it. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Asks and settles as a worker does. */
export function workerOn({ frontier }: Backends, worker = 'w1') {
  let seq = 0
  const lease = async (want: number): Promise<Lease[]> => {
    const about = { machine: 'm', pid: 1, version: '1', spiders: { books: 'h1' }, concurrency: 1_000 }
    return (await frontier.lease({ worker, seq: ++seq, want, spiders: ['books'], about })).leases
  }
  return {
    lease,
    async visit(want: number, outcome: (lease: Lease) => Outcome): Promise<void> {
      const leases = await lease(want)
      await frontier.release(
        leases.map((one) => ({ lease: one, host: one.link.host, elapsedMs: 1, report: { kind: 'ok' } })),
      )
      await frontier.settle(leases.map((one) => ({ lease: one, outcome: outcome(one) })))
    },
  }
}

export function pagesOf(host: string, from: number, count: number) {
  return Array.from({ length: count }, (_, i) => linkTo(`${host}/${from + i}`))
}
