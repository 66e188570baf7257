import { z } from 'zod'
import { atLeastOne, duration, options } from '../../../options.js'
import { count, minutes, ofCrawl, type Rule, STATELESS, type WatchedCrawl, waitingLinks } from './rule.js'
import { type Stretch, stretchOf } from './window.js'

const settings = options({
  pending: atLeastOne.default(20_000),
  pages: atLeastOne.default(1_000),
  window: duration({ min: 60_000, max: 30 * 60_000 }).default(20 * 60_000),
  perPage: z.number().min(1).max(1_000).default(1.5),
})
type Settings = z.output<typeof settings>

/** A finite site yields fewer new links per page over time; in a trap, every page yields as many as the last. */
const STEADY = 0.9
/** At least this share of the window must have been watched. */
const WATCHED = 0.9

export const queueGrowing: Rule<Settings, null> = {
  ...STATELESS,
  rule: 'queue_growing',
  meaning:
    'More than `pending` links are waiting, and over `window` each page yielded at least `perPage` new links without slowing down: a crawler trap, or an endless site.',
  settings,
  lastingMs: 60_000,
  judge: ({ crawls, now }, wanted) => ({
    memory: null,
    found: crawls.flatMap((crawl) => {
      const growth = growthOf(crawl, wanted, now)
      if (growth === null) return []
      const { whole, level } = growth
      const busiest = crawl.snapshot.hosts[0]
      return [
        {
          ...ofCrawl(crawl),
          level,
          severity: 'warn' as const,
          message: `the queue keeps growing: ${waitingLinks(whole.pending)}, ${count(whole.pending - whole.pendingBefore)} more than ${minutes(whole.ms)} ago, while ${count(whole.ended)} ended`,
          next:
            busiest === undefined
              ? 'Look for a crawler trap with `shoal links list`, and narrow the scope of the spider.'
              : `Most of them are on ${busiest.host} (${count(busiest.pending)}): snapshot for a crawler trap with \`shoal links list --host ${busiest.host}\`, then deny it in the spider or block the host.`,
          fields: {
            pending: whole.pending,
            before: whole.pendingBefore,
            found: whole.found,
            ended: whole.ended,
            windowMs: whole.ms,
            host: busiest?.host ?? null,
          },
        },
      ]
    }),
  }),
}

function growthOf(
  { snapshot, samples }: WatchedCrawl,
  { pending, pages, window, perPage }: Settings,
  now: number,
): { whole: Stretch; level: 'over' | 'near' } | null {
  // Adding a million start URLs is not a trap.
  if (snapshot.stats.seeding) return null
  const whole = stretchOf(samples, now - window, now)
  const half = now - window / 2
  const first = stretchOf(samples, now - window, half)
  const second = stretchOf(samples, half, now)
  if (whole === null || first === null || second === null) return null
  if (whole.pending <= whole.pendingBefore || whole.pending < pending / 2) return null
  const steady = yieldOf(second) >= STEADY * yieldOf(first)
  const over =
    whole.ms >= window * WATCHED && whole.pending >= pending && whole.ended >= pages && yieldOf(whole) >= perPage
  return { whole, level: over && steady ? 'over' : 'near' }
}

function yieldOf({ found, ended }: Stretch): number {
  return ended === 0 ? 0 : found / ended
}
