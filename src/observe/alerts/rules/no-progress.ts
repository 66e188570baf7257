import { duration, options } from '../../../options.js'
import { FORGETFUL, minutes, ofCrawl, type Rule } from './rule.js'

const settings = options({ after: duration({ min: 15_000 }).default(60_000) })

/** Health is red for longer than a hiccup. */
export const noProgress: Rule<{ after: number }, null> = {
  ...FORGETFUL,
  rule: 'no_progress',
  meaning: 'Work of a crawl is due, and nothing was leased or settled anywhere for `after`.',
  settings,
  // Workers that have just been started on what waited for them have that long to begin.
  lastingMs: 15_000,
  judge: ({ crawls }, { after }) => ({
    memory: null,
    found: crawls
      .filter(({ look }) => look.stalledMs > 0)
      .map((crawl) => {
        const { stalledMs, workers } = crawl.look
        return {
          ...ofCrawl(crawl),
          level: stalledMs >= after ? 'over' : 'near',
          severity: 'critical',
          message: `work is due, and nothing was leased or settled for ${minutes(stalledMs)}`,
          next:
            workers.length === 0
              ? 'No worker is alive: start one with `shoal worker <file>`.'
              : 'Look at `shoal workers` and at the log of a worker.',
          fields: { stalledMs: Math.round(stalledMs), workers: workers.length },
        } as const
      }),
  }),
}
