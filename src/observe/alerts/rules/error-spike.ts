import { z } from 'zod'
import { atLeastOne, duration, options } from '../../../options.js'
import { percent } from '../../in-words.js'
import { count, minutes, ofCrawl, type Rule, STATELESS } from './rule.js'
import { type Stretch, stretchOf } from './window.js'

const share = z.number().gt(0).max(1)
const settings = options({
  share: share.default(0.2),
  times: z.number().min(1).max(1_000).default(3),
  always: share.default(0.5),
  visits: atLeastOne.default(50),
  window: duration({ min: 30_000, max: 15 * 60_000 }).default(5 * 60_000),
})
type Settings = z.output<typeof settings>

const WATCHED_MS = 30 * 60_000
/** Shares below this count as this, so that a tiny share before does not make every error a spike. */
const LEAST_BEFORE = 0.01

export const errorSpike: Rule<Settings, null> = {
  ...STATELESS,
  rule: 'error_spike',
  meaning:
    'Of at least `visits` visits within `window`, at least `share` failed and that is `times` the share before; or at least `always` failed, whatever the share before.',
  settings,
  lastingMs: 15_000,
  judge: ({ crawls, now }, wanted) => ({
    memory: null,
    found: crawls.flatMap((crawl) => {
      const { samples } = crawl
      const recent = stretchOf(samples, now - wanted.window, now)
      if (recent === null || visitsOf(recent) === 0) return []
      const before = stretchOf(samples, now - WATCHED_MS, now - wanted.window)
      const level = levelOf(recent, before, wanted)
      if (level === null) return []
      const usual = before === null || visitsOf(before) === 0 ? null : shareOf(before)
      return [
        {
          ...ofCrawl(crawl),
          level,
          severity: shareOf(recent) >= wanted.always ? ('critical' as const) : ('warn' as const),
          message: `${percent(shareOf(recent))} of visits in the last ${minutes(recent.ms)} failed${usual === null ? '' : `, ${percent(usual)} before`}: ${count(recent.errors)} of ${count(visitsOf(recent))}`,
          next: 'See the errors with `shoal dead list`, and one URL in detail with `shoal explain <url>`.',
          fields: {
            share: rounded(shareOf(recent)),
            before: usual === null ? null : rounded(usual),
            ...countsOf(recent),
          },
        },
      ]
    }),
  }),
}

function levelOf(recent: Stretch, before: Stretch | null, wanted: Settings): 'over' | 'near' | null {
  const now = shareOf(recent)
  if (visitsOf(recent) < wanted.visits) return now >= wanted.share / 2 ? 'near' : null
  const known = before !== null && visitsOf(before) >= wanted.visits
  const usual = Math.max(LEAST_BEFORE, known ? shareOf(before) : 0)
  if (now >= wanted.always || (known && now >= wanted.share && now >= wanted.times * usual)) return 'over'
  // A spike lasts until its share is halved: over time the spike itself becomes the share before.
  return now >= wanted.share / 2 ? 'near' : null
}

function visitsOf({ pages, errors }: Stretch): number {
  return pages + errors
}

function shareOf(stretch: Stretch): number {
  return visitsOf(stretch) === 0 ? 0 : stretch.errors / visitsOf(stretch)
}

function countsOf(stretch: Stretch): { errors: number; visits: number; windowMs: number } {
  return { errors: stretch.errors, visits: visitsOf(stretch), windowMs: stretch.ms }
}

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}
