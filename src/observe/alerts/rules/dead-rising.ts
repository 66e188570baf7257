import { z } from 'zod'
import { atLeastOne, duration, options } from '../../../options.js'
import { percent } from '../../in-words.js'
import { count, minutes, ofCrawl, type Rule, STATELESS } from './rule.js'
import { stretchOf } from './window.js'

const settings = options({
  dead: atLeastOne.default(20),
  share: z.number().gt(0).max(1).default(0.1),
  window: duration({ min: 30_000, max: 30 * 60_000 }).default(10 * 60_000),
})

export const deadRising: Rule<z.output<typeof settings>, null> = {
  ...STATELESS,
  rule: 'dead_rising',
  meaning:
    'At least `dead` links failed for good within `window`, and they are at least `share` of all links that ended.',
  settings,
  lastingMs: 15_000,
  judge: ({ crawls, now }, { dead, share, window }) => ({
    memory: null,
    found: crawls.flatMap((crawl) => {
      const recent = stretchOf(crawl.samples, now - window, now)
      if (recent === null || recent.dead < dead / 2 || recent.dead < (recent.ended * share) / 2) return []
      const over = recent.dead >= dead && recent.dead >= recent.ended * share
      return [
        {
          ...ofCrawl(crawl),
          level: over ? ('over' as const) : ('near' as const),
          severity: 'warn' as const,
          message: `${count(recent.dead)} ${recent.dead === 1 ? 'link' : 'links'} failed for good in ${minutes(recent.ms)}, ${percent(recent.dead / Math.max(1, recent.ended))} of all links that ended`,
          next: 'See why with `shoal dead list`; once it is fixed, retry them with `shoal dead replay`.',
          fields: {
            dead: recent.dead,
            ended: recent.ended,
            windowMs: recent.ms,
            total: crawl.snapshot.stats.dead,
          },
        },
      ]
    }),
  }),
}
