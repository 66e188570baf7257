import { expect, it } from 'vitest'
import { RESULTS_SHORT, SHORT } from './faults/mixes.js'
import { showResult } from './report.js'
import { type RunOptions, runScenario } from './run-scenario.js'

const MINUTES = 4
const OPTIONS: RunOptions = {
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

/** About a minute on an idle machine. `npm run chaos` has every fault by itself, and the long runs. */
it(
  'loses nothing, hands out nothing twice and hammers nobody under kills, freezes, restarts of Redis and lost replies',
  async () => {
    const result = await runScenario(SHORT, OPTIONS)
    expect(result.verdict, showResult(result, OPTIONS)).toBe('passed')
  },
  (MINUTES + 1) * 60_000,
)

it(
  'has every record once in a Postgres that was stopped and away, though a worker died between commit and acknowledgement',
  async () => {
    const options = { ...OPTIONS, workers: 2, delayMs: 50, leaseMs: 2_000 }
    const result = await runScenario(RESULTS_SHORT, options)
    expect(result.verdict, showResult(result, options)).toBe('passed')
  },
  (MINUTES + 1) * 60_000,
)
