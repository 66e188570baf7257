import { duration, options } from '../../../options.js'
import { minutes, ofCrawl, type Rule, STATELESS } from './rule.js'

const settings = options({ after: duration({ min: 15_000 }).default(60_000) })

/** Unhealthy for longer than a hiccup. */
export const noProgress: Rule<{ after: number }, null> = {
  ...STATELESS,
  rule: 'no_progress',
  meaning: 'Links of a crawl are due, but nothing was leased or settled anywhere for `after`.',
  settings,
  // Workers that have just started get this long to begin.
  lastingMs: 15_000,
  judge: ({ crawls }, { after }) => ({
    memory: null,
    found: crawls
      .filter(({ snapshot }) => snapshot.stalledMs > 0)
      .map((crawl) => {
        const { stalledMs, workers } = crawl.snapshot
        return {
          ...ofCrawl(crawl),
          level: stalledMs >= after ? 'over' : 'near',
          severity: 'critical',
          message: `links are due, but none was leased or settled for ${minutes(stalledMs)}`,
          next:
            workers.length === 0
              ? 'No worker is running: start one with `shoal worker <spider file>`.'
              : 'Check `shoal workers` and the log of a worker.',
          fields: { stalledMs: Math.round(stalledMs), workers: workers.length },
        } as const
      }),
  }),
}
