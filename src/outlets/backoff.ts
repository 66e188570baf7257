import type { Random } from '../clock.js'

const FIRST_MS = 1_000
const LONGEST_MS = 300_000
/** A sink that asks for a longer pause gets this one. */
const LONGEST_ASKED_MS = 3_600_000

/** The pause after so many failures in a row. Between half of it and all of it, so that many processes do not retry at once. */
export function pauseAfter(failures: number, retryAfterMs: number | undefined, random: Random): number {
  const own = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * (0.5 + random() / 2)
  return Math.max(own, Math.min(retryAfterMs ?? 0, LONGEST_ASKED_MS))
}
