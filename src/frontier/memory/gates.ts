import type { Limits } from '../frontier.js'
import { afterStart, earliestStart, startsAllowed } from '../pace.js'
import type { Paced } from './model.js'

/** Something a request must pass: its host's pace, and its route's. */
export interface Gate {
  readonly paced: Paced
  readonly limits: Limits
}

export function openingOf(gates: readonly Gate[]): number {
  return Math.max(...gates.map(({ paced, limits }) => earliestStart(paced.pace, limits)))
}

export function canStart(gates: readonly Gate[], now: number): boolean {
  return gates.every(({ paced, limits }) => startsAllowed(paced.pace, limits, now) >= 1)
}

export function start(gates: readonly Gate[], now: number, takesSlot: boolean): void {
  for (const { paced, limits } of gates) paced.pace = afterStart(paced.pace, limits, now, 1, takesSlot)
}
