import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'

/** What is judged by the milliseconds in the log of a site has the machine for itself. */
const ALONE = [
  'test/chaos/*.test.ts',
  'test/e2e/{dashboard,exits,many-hosts,politeness,sitemaps,throttle}.test.ts',
  'test/observe/snapshots/advice-caused.test.ts',
]
/** Several servers or worker processes of their own, which wait for one another more than they work: two of these at a time fill two cores. */
const IN_PAIRS = ['test/e2e/{fleet,kill}.test.ts', 'test/frontier/redis/cluster-frontier.test.ts']

export default defineConfig({
  test: {
    // Real databases, real child processes: forks keep native modules apart, and a slow machine needs time.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'side by side',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE, ...IN_PAIRS],
          // Half of the time a test waits for a server or a clock: with two files at a time two cores were idle for a third of it. None of these
          // is judged by the time it takes; they have passed on machines five times as busy.
          maxWorkers: Math.max(3, availableParallelism() - 1),
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'in pairs', include: IN_PAIRS, maxWorkers: 2, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 2 } } },
    ],
  },
})
