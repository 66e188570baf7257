import { expect, it } from 'vitest'
import { SHORT } from './faults/mixes.js'
import { showResult } from './report.js'
import { type RunOptions, runScenario } from './run-scenario.js'

const MINUTES = 4

/** About a minute on an idle machine. `npm run chaos` has every fault by itself, and the long run. */
it(
  'loses nothing, hands out nothing twice and hammers nobody under kills, freezes, restarts of Redis and lost replies',
  async () => {
    const options: RunOptions = {
      queue: 'redis',
      store: 'sqlite',
      seed: 7,
      pages: null,
      workers: 3,
      hosts: 50,
      delayMs: 100,
      leaseMs: 5_000,
      minutes: MINUTES,
      awayMs: null,
      keep: false,
    }
    const result = await runScenario(SHORT, options)
    expect(result.verdict, showResult(result, options)).toBe('passed')
  },
  (MINUTES + 1) * 60_000,
)
