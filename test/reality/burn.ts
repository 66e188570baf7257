/** Work for a handler: a fixed number of steps, because a loop by the clock would cost less CPU when processes share a core. */
export function burn(steps: number): number {
  let state = 1
  for (let step = 0; step < steps; step++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
  return state
}

const TRIAL_STEPS = 20_000_000
const TRIALS = 5

/** Steps that take about `ms` of CPU on this machine, by the fastest of a few trials. */
export function stepsFor(ms: number): number {
  const trials = Array.from({ length: TRIALS }, () => {
    const before = performance.now()
    if (burn(TRIAL_STEPS) === 0) throw new Error('the loop was optimised away')
    return performance.now() - before
  })
  return Math.round((TRIAL_STEPS * ms) / Math.min(...trials))
}
