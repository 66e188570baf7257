import { z } from 'zod'
import { atLeastOne, duration, options } from '../../../options.js'
import { percent } from '../../in-words.js'
import { count, FORGETFUL, minutes, ofCrawl, type Rule } from './rule.js'
import { stretchOf } from './window.js'

const settings = options({
  dead: atLeastOne.default(20),
  share: z.number().gt(0).max(1).default(0.1),
  window: duration({ min: 30_000, max: 30 * 60_000 }).default(10 * 60_000),
})

export const deadRising: Rule<z.output<typeof settings>, null> = {
  ...FORGETFUL,
  rule: 'dead_rising',
  meaning: 'Within `window` at least `dead` links were given up, and that is a share of `share` of all that ended.',
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
          message: `${count(recent.dead)} links were given up within ${minutes(recent.ms)}, ${percent(recent.dead / Math.max(1, recent.ended))} of those that ended`,
          next: 'See why with `shoal dead list`; once it is mended, `shoal dead replay` tries them again.',
          fields: {
            dead: recent.dead,
            ended: recent.ended,
            windowMs: recent.ms,
            inAll: crawl.look.stats.dead,
          },
        },
      ]
    }),
  }),
}
