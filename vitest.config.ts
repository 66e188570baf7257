import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real databases, real child processes: forks keep native modules apart, and a slow machine needs time.
    pool: 'forks',
    // Half of the time a test waits for a server or a clock: on two cores one file at a time left one of them idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
