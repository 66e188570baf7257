import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { ALONE, IN_PAIRS, LONG, NEEDS_PROCESSES } from './test/projects.js'
import { LONGER } from './test/support/longer.js'

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((file) => moduleId === join(this.ctx.config.root, file))
      return found < 0 ? LONG.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    // Real databases, real child processes: forks keep native modules apart, and a slow machine needs time.
    pool: 'forks',
    testTimeout: 30_000 * LONGER,
    hookTimeout: 60_000,
    // A developer's shell may have these for another project; empty counts as not set, here and in every process that a test starts.
    env: { REDIS_URL: '', DATABASE_URL: '', DB_URL: '', PROXY_LIST: '' },
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...NEEDS_PROCESSES],
          setupFiles: ['test/support/quick.ts'],
          // Loading the same modules anew for each of 150 files took as long as half of the tests.
          isolate: false,
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'side by side',
          include: NEEDS_PROCESSES,
          exclude: [...configDefaults.exclude, ...ALONE, ...IN_PAIRS],
          // Half of the time a test waits for a server or a clock: with two files at a time two cores were idle for a third of it. None of these
          // is judged by the time it takes; they have passed on machines five times as busy.
          maxWorkers: Math.max(4, availableParallelism() - 1),
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'in pairs', include: IN_PAIRS, maxWorkers: 2, sequence: { groupOrder: 2 } } },
      { extends: true, test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 3 } } },
    ],
  },
})
