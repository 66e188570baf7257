import { profileOf } from '../../src/simulate/profile.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'
import { BEGIN, Simulation } from '../../src/simulate/simulation.js'
import type { Course } from './course.js'

const EVENTS_AT_ONCE = 1_000_000

/** The crawl of the profile on the virtual clock. */
export function runSimulated(input: ProfileInput): Course {
  const endedBySecond: number[] = []
  const simulation = new Simulation(profileOf(input), (event, at) => {
    if (event === 'end') countIn(endedBySecond, at - BEGIN)
  })
  while (!simulation.run(EVENTS_AT_ONCE));
  const { requests, retries, throttled, dead } = simulation.totals
  return { endMs: simulation.endedAt - BEGIN, endedBySecond, requests, retries, throttled, dead }
}

/** One more in the second of this time. */
export function countIn(bySecond: number[], ms: number): void {
  const second = Math.floor(ms / 1_000)
  while (bySecond.length <= second) bySecond.push(0)
  bySecond[second] = (bySecond[second] ?? 0) + 1
}
