import type { Clock } from './clock.js'
import { jsonText } from './json-text.js'
import { withoutUserInfo } from './url/show-url.js'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** One event name for each step in the life of a URL, and for each thing that can happen to the backends. */
type LogEvent =
  | 'crawl.opened'
  | 'crawl.seeded'
  | 'crawl.seeding_failed'
  | 'crawl.resumed'
  | 'crawl.finished'
  | 'crawl.lost'
  | 'feed.refused'
  | 'feed.noted'
  | 'feed.failed'
  | 'schedule.started'
  | 'schedule.skipped'
  | 'schedule.failed'
  | 'schedule.waiting'
  | 'spider.changed'
  | 'spider.args_refused'
  | 'spider.unknown'
  | 'spider.uncaught'
  | 'spider.output'
  | 'page.log'
  | 'link.added'
  | 'link.found'
  | 'link.refused'
  | 'seeds.skipped'
  | 'seeds.empty'
  | 'lease.granted'
  | 'lease.lost'
  | 'fetch.done'
  | 'fetch.failed'
  | 'fetch.rendered'
  | 'fetch.cached'
  | 'cache.unwritable'
  | 'proxies.resting'
  | 'robots.read'
  | 'robots.checked'
  | 'permit.granted'
  | 'handler.done'
  | 'handler.failed'
  | 'record.fenced'
  | 'records.drift'
  | 'visit.written'
  | 'visit.settled'
  | 'visit.stale'
  | 'worker.started'
  | 'worker.added'
  | 'worker.removed'
  | 'worker.slots'
  | 'worker.draining'
  | 'worker.stopped'
  | 'worker.stuck'
  | 'worker.died'
  | 'worker.version'
  | 'alert.began'
  | 'alert.ended'
  | 'alert.undelivered'
  | 'outlet.waiting'
  | 'outlet.back'
  | 'outlet.stopped'
  | 'outlet.failed'
  | 'outlet.behind'
  | 'backend.waiting'
  | 'backend.back'
  | 'backend.warning'
  | 'audit.failed'
  | 'retention.retired'
  | 'retention.failed'
  | 'api.failed'

/** What the spider's own code writes: with `page.log`, and with console or to the standard streams. */
type SpiderEvent = Extract<LogEvent, 'page.log' | 'spider.output'>

export type SpiderLevel = 'info' | 'warn' | 'error'

export interface Log {
  /** Debug lines are printed. Hot paths build their fields only then. */
  readonly verbose: boolean
  debug(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void
  info(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void
  warn(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void
  error(event: LogEvent, fields?: Readonly<Record<string, unknown>>): void
  /**
   * A line of the spider's own code. The default level, `warn`, leaves out what Shoal does, not what somebody wrote to see it: such a line counts as a
   * warning at least.
   */
  spider(level: SpiderLevel, event: SpiderEvent, fields: Readonly<Record<string, unknown>>): void
}

const RANK = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const

/** JSON lines, one event each. `write` receives the whole line including its newline. */
export function createLog(level: LogLevel, clock: Clock, write: (line: string) => void): Log {
  const line = (name: LogLevel, event: LogEvent, fields: Readonly<Record<string, unknown>> | undefined) =>
    write(lineOf({ time: new Date(clock.now()).toISOString(), level: name, event, ...fields }))
  const at = (name: Exclude<LogLevel, 'silent'>): Log['info'] =>
    RANK[name] < RANK[level] ? () => {} : (event, fields) => line(name, event, fields)
  return {
    ...{ verbose: level === 'debug', debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    spider(name, event, fields) {
      if (Math.max(RANK[name], RANK.warn) >= RANK[level]) line(name, event, fields)
    },
  }
}

/** A URL from a page may have a password in it, and so may the message of a server or of a spider's code. */
function lineOf(fields: Readonly<Record<string, unknown>>): string {
  return `${withoutUserInfo(jsonText(fields))}\n`
}

export const silentLog: Log = { verbose: false, debug() {}, info() {}, warn() {}, error() {}, spider() {} }
