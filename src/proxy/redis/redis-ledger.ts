import type { Clock } from '../../clock.js'
import * as frontier from '../../frontier/frontier.js'
import * as pace from '../../frontier/pace.js'
import type { RedisConnection, RedisReply } from '../../redis/connection.js'
import { constantsOf, type LuaConstants, scriptLoader } from '../../redis/load-script.js'
import { bytes, list, number, text } from '../../redis/replies.js'
import type { ProxyId } from '../proxy.js'
import type { ProxyAnswer, ProxyAsk, ProxyLedger, ProxyReport, ProxyScore } from '../proxy-ledger.js'
import * as state from '../proxy-state.js'
import { decodeCounts, decodeHealth, encodeAsk, encodeReport, VERDICTS } from './codec.js'
import { ledgerTag } from './keys.js'

export interface RedisLedgerOptions {
  readonly namespace?: string
  /** For tests: in place of the server's time. */
  readonly clock?: Clock
}

/** In one run of a script: Redis serves nobody else meanwhile. */
const MOST_ASKS = 256
const MOST_NAMED = 10_000
const MOST_REPORTS = 256
const NAMES_AT_ONCE = 500

type Operation = 'grant' | 'report' | 'scores' | 'scores-on' | 'wake'

const CONSTANTS: LuaConstants = {
  ...constantsOf(frontier, pace, state),
  ...Object.fromEntries(VERDICTS.map((kind, nth) => [kind.toUpperCase(), nth + 1])),
}

/** The ledger of a fleet: decided inside Redis, by one script for each call. */
export function redisLedger(connection: RedisConnection, options: RedisLedgerOptions = {}): ProxyLedger {
  const { namespace = 'shoal', clock } = options
  const tag = ledgerTag(namespace)
  const loadScript = scriptLoader(CONSTANTS)
  const load = (name: Operation) =>
    loadScript(name, ['redis/lua/server-time', 'proxy/redis/lua/ledger', `proxy/redis/lua/${name}`])
  const scripts = {
    grant: load('grant'),
    report: load('report'),
    scores: load('scores'),
    'scores-on': load('scores-on'),
    wake: load('wake'),
  }
  const run = (operation: Operation, args: readonly (string | Buffer)[]): Promise<RedisReply> =>
    connection.run(scripts[operation], [tag], [clock === undefined ? '' : String(clock.now()), ...args])

  return {
    async grant(asks) {
      const answers: ProxyAnswer[] = []
      for (const batch of batchesOf(asks))
        answers.push(...list(await run('grant', batch.flatMap(askArgs))).map(toAnswer))
      return answers
    },
    async report(reports) {
      for (let at = 0; at < reports.length; at += MOST_REPORTS) {
        await run('report', reports.slice(at, at + MOST_REPORTS).flatMap(reportArgs))
      }
    },
    async scores(pool, { limit, after = '' }) {
      const found: ProxyScore[] = []
      for (let from = after; ; ) {
        const wanted = Math.min(NAMES_AT_ONCE, limit - found.length)
        if (wanted <= 0) return found
        const [time, next, ...rows] = list(await run('scores', [pool, from, String(wanted)]))
        for (let i = 0; i + 2 < rows.length; i += 3) {
          found.push(...toScore(text(rows[i]), text(rows[i + 1]), bytes(rows[i + 2]), number(time)))
        }
        from = text(next)
        if (from === '') return found
      }
    },
    async scoresOn(pool, site) {
      const [time, ...rows] = list(await run('scores-on', [pool, site]))
      const found: ProxyScore[] = []
      for (let i = 0; i + 1 < rows.length; i += 2) {
        found.push(...toScore(text(rows[i]), site, bytes(rows[i + 1]), number(time)))
      }
      return found.sort((a, b) => (a.proxy < b.proxy ? -1 : 1))
    },
    async wake(pool, proxy) {
      for (let from = ''; ; ) {
        from = text(await run('wake', [pool, proxy, from, String(NAMES_AT_ONCE)]))
        if (from === '') return
      }
    },
  }
}

/** Each small enough for one run of the script. */
function batchesOf(asks: readonly ProxyAsk[]): ProxyAsk[][] {
  const batches: ProxyAsk[][] = []
  let named = 0
  for (const ask of asks) {
    const last = batches.at(-1)
    named += ask.proxies.length
    if (last === undefined || last.length === MOST_ASKS || named > MOST_NAMED) {
      batches.push([ask])
      named = ask.proxies.length
    } else last.push(ask)
  }
  return batches
}

function askArgs({ ask, pool, proxies, host, site, limits, holdMs }: ProxyAsk): (string | Buffer)[] {
  const named = proxies.slice(0, state.MOST_PROXIES)
  return [encodeAsk(limits, holdMs, named.length), ask, pool, host, site, ...named]
}

function reportArgs(report: ProxyReport): (string | Buffer)[] {
  return [encodeReport(report), report.ask, report.pool, report.proxy]
}

const REASONS = { paced: 'paced', resting: 'resting', none: 'none' } as const

function toAnswer(reply: RedisReply): ProxyAnswer {
  const [first, second, why] = list(reply)
  if (first !== 0) return { ok: true, proxy: text(first), permitMs: number(second) }
  return { ok: false, waitMs: number(second), why: REASONS[text(why) as keyof typeof REASONS] }
}

/** None for a record that nobody used for a week. */
function toScore(proxy: ProxyId, site: string, record: Buffer, now: number): ProxyScore[] {
  const health = decodeHealth(record)
  return state.isForgotten(health, now)
    ? []
    : [state.scoreOf({ proxy, site }, state.healthNow(health, now), decodeCounts(record), now)]
}
