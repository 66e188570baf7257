import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Real databases, real child processes: forks keep native modules apart, and a slow machine needs time.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
