import { z } from 'zod'
import { duration, options } from '../../../options.js'
import { minutes, ofCrawl, type Rule, type WatchedCrawl } from './rule.js'

const settings = options({
  window: duration({ min: 60_000, max: 6 * 3_600_000 }).default(15 * 60_000),
  grown: z.number().gt(1).max(100).default(1.25),
  left: duration({ min: 0 }).default(10 * 60_000),
})
type Settings = z.output<typeof settings>

const SAMPLE_EVERY_MS = 15_000
/** While the queue grows the end is unknown, and another rule watches that. */
const SAME_QUEUE = 1.1
/** At least this share of the window must have been watched. */
const WATCHED = 0.9

type Memory = ReadonlyMap<string, readonly Noted[]>
interface Noted {
  readonly at: number
  readonly etaMs: number
  readonly pending: number
}

export const etaSlipping: Rule<Settings, Memory> = {
  rule: 'eta_slipping',
  meaning:
    'The time left of a crawl has grown steadily to `grown` times what it was a `window` ago, although the queue has not grown. Not reported with less than `left` to go.',
  settings,
  lastingMs: 0,
  noMemory: new Map(),
  needsMs: ({ window }) => window,
  judge({ crawls, now }, wanted, before) {
    const memory = new Map<string, readonly Noted[]>()
    const found = crawls.flatMap((crawl) => {
      const { stats, estimate } = crawl.snapshot
      const noted = (before.get(stats.id) ?? []).filter(({ at }) => at > now - wanted.window - SAMPLE_EVERY_MS)
      const latest = notedNow(crawl, now)
      const known = latest === null || now - (noted.at(-1)?.at ?? 0) < SAMPLE_EVERY_MS ? noted : [...noted, latest]
      memory.set(stats.id, known)
      const slip = slipOf(known, wanted)
      if (slip === null) return []
      const { decidedBy } = estimate
      return [
        {
          ...ofCrawl(crawl),
          level: slip.level,
          severity: 'warn' as const,
          message: `the end is slipping: ${minutes(slip.etaMs)} left, compared with ${minutes(slip.beforeMs)} ${minutes(slip.overMs)} ago`,
          next:
            decidedBy?.kind === 'host'
              ? `It is limited by ${decidedBy.host} (${decidedBy.reason}): see \`shoal status\` and \`shoal hosts\`.`
              : 'See what limits it with `shoal status`.',
          fields: {
            etaMs: slip.etaMs,
            beforeMs: slip.beforeMs,
            windowMs: slip.overMs,
            decidedBy: decidedBy?.kind ?? null,
          },
        },
      ]
    })
    return { found, memory }
  },
}

function notedNow({ snapshot }: WatchedCrawl, now: number): Noted | null {
  const { estimate, stats } = snapshot
  if (estimate.etaSeconds === null) return null
  return { at: now, etaMs: Math.round(estimate.etaSeconds * 1000), pending: stats.queued + stats.delayed }
}

interface Slip {
  readonly level: 'over' | 'near'
  readonly etaMs: number
  readonly beforeMs: number
  readonly overMs: number
}

/** Each third of the window must be worse than the one before: one bad minute is not a trend. */
function slipOf(noted: readonly Noted[], { window, grown, left }: Settings): Slip | null {
  const first = noted[0]
  const last = noted.at(-1)
  if (first === undefined || last === undefined || last.at - first.at < window * WATCHED) return null
  const third = Math.floor(noted.length / 3)
  const [early, middle, late] = [
    noted.slice(0, third),
    noted.slice(third, noted.length - third),
    noted.slice(noted.length - third),
  ].map((part) => median(part.map(({ etaMs }) => etaMs)))
  if (early === undefined || middle === undefined || late === undefined) return null
  if (late <= early || last.pending > first.pending * SAME_QUEUE) return null
  const over = early < middle && middle < late && late >= early * grown && late >= left
  return { level: over ? 'over' : 'near', etaMs: late, beforeMs: early, overMs: last.at - first.at }
}

function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}
