import { expect, it } from 'vitest'
import { restartPause } from '../../../src/run/workers/restart-pause.js'

it('waits longer each time, up to half a minute, and begins anew after a worker that ran well', () => {
  const pauses: number[] = []
  for (let last = 0, died = 0; died < 9; died++) {
    last = restartPause(last, 1_000)
    pauses.push(last)
  }
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  expect(restartPause(30_000, 60_001)).toBe(500)
})
