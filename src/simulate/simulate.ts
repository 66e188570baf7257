import type { Profile } from './profile.js'
import { resultOf, type SimulationResult } from './result.js'
import { Simulation } from './simulation.js'

/** Events between two reports of progress: some 50 ms. */
const EVENTS_AT_ONCE = 50_000

/** The crawl of a profile from its start to its end. Blocks: 1 M URLs take some seconds. */
export function simulate(profile: Profile): SimulationResult {
  const simulation = new Simulation(profile)
  while (!simulation.run(EVENTS_AT_ONCE));
  return resultOf(simulation, true)
}

export interface Watcher {
  /** Called a few times per second; `false` stops it, and the result is that of the part that was simulated. */
  progress(simulation: Simulation): boolean | Promise<boolean>
}

/** The same, so that somebody can watch it and end it. */
export async function simulateWatched(profile: Profile, { progress }: Watcher): Promise<SimulationResult> {
  const simulation = new Simulation(profile)
  for (;;) {
    if (simulation.run(EVENTS_AT_ONCE)) return resultOf(simulation, true)
    if (!(await progress(simulation))) return resultOf(simulation, false)
  }
}
