import { describe, expect, it } from 'vitest'
import { stuckWatch } from '../../../src/run/workers/stuck-watch.js'
import { BEAT_MS } from '../../../src/run/workers/worker-thread-messages.js'

const STUCK_MS = 1_000

/** Looks every `everyMs` at a beat that stands still; how long until the worker counts as stuck. */
function stuckAfter(everyMs: number): number {
  const isStuck = stuckWatch(STUCK_MS, 0)
  for (let now = everyMs; now < 100_000; now += everyMs) if (isStuck(1, now)) return now
  return Number.POSITIVE_INFINITY
}

describe('the watch for a stuck worker', () => {
  it('knows one whose beat stands still, also when it looks late each time', () => {
    expect(stuckAfter(BEAT_MS)).toBeGreaterThan(STUCK_MS)
    expect(stuckAfter(BEAT_MS)).toBeLessThan(STUCK_MS + 3 * BEAT_MS)
    expect(stuckAfter(5_000)).toBeLessThan(30_000)
  })

  it('lets one live that was stopped together with its watcher', () => {
    const isStuck = stuckWatch(STUCK_MS, 0)
    let now = 0
    const look = (beat: number, afterMs: number) => {
      now += afterMs
      return isStuck(beat, now)
    }
    for (let round = 1; round < 50; round++) {
      expect(look(round, BEAT_MS)).toBe(false)
      // The watcher may be the first to wake.
      expect(look(round, 60_000)).toBe(false)
      expect(look(round, BEAT_MS)).toBe(false)
    }
  })
})
