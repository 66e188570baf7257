import type { Limits } from '../../frontier/frontier.js'
import type { ProxyReport, ProxyVerdict } from '../proxy-ledger.js'
import { bucketOf, type ProxyCounts, type ProxyHealth } from '../proxy-state.js'

/** What travels between TypeScript and the scripts, in the formats that lua/ defines. */

/** Infinity has no place in a script. */
const NO_LIMIT = 1e9

/** grant.lua, ASK. */
export function encodeAsk({ delayMs, concurrency, rate }: Limits, holdMs: number, proxies: number): Buffer {
  const interval = rate === undefined ? 0 : rate.perMs / rate.count
  const bytes = Buffer.alloc(44)
  for (const [at, number] of [delayMs, Math.min(concurrency, NO_LIMIT), interval, rate?.burst ?? 1, holdMs].entries()) {
    bytes.writeDoubleBE(number, at * 8)
  }
  bytes.writeUInt32BE(proxies, 40)
  return bytes
}

export const VERDICTS: readonly ProxyVerdict['kind'][] = ['good', 'neutral', 'broken', 'banned']

/** report.lua, REPORT. */
export function encodeReport({ verdict, elapsedMs, tookMs, bytes, cost, rest }: ProxyReport): Buffer {
  const report = Buffer.alloc(58)
  const sentMs = elapsedMs === null ? -1 : Math.max(0, elapsedMs)
  report[0] = VERDICTS.indexOf(verdict.kind) + 1
  report.writeDoubleBE(verdict.kind === 'banned' ? (verdict.retryAfterMs ?? -1) : -1, 1)
  report.writeDoubleBE(sentMs, 9)
  report[17] = bucketOf(tookMs ?? sentMs) + 1
  for (const [at, number] of [bytes, cost, rest.strikes, rest.baseMs, rest.capMs].entries()) {
    report.writeDoubleBE(number, 18 + at * 8)
  }
  return report
}

/** ledger.lua, HEALTH. */
export function decodeHealth(bytes: Buffer): ProxyHealth {
  return {
    proved: bytes[0] === 1,
    strikes: bytes.readUInt32BE(1),
    rests: bytes.readUInt32BE(5),
    restedAt: bytes.readDoubleBE(9),
    restsUntil: bytes.readDoubleBE(17),
    inFlight: bytes.readUInt32BE(25),
    usedAt: bytes.readDoubleBE(29),
  }
}

/** ledger.lua, COUNTS and BUCKETS, behind the health. */
export function decodeCounts(bytes: Buffer): ProxyCounts {
  const count = (at: number) => bytes.readDoubleBE(37 + at * 8)
  return {
    good: count(0),
    neutral: count(1),
    banned: count(2),
    broken: count(3),
    bytes: count(4),
    cost: count(5),
    latency: Array.from({ length: 12 }, (_, bucket) => bytes.readUInt32BE(85 + bucket * 4)),
  }
}
