import { describe, expect, it } from 'vitest'
import { isBlocked, isSetByHand, paceText, shortPaceText } from '../../dashboard/src/views/host-pace.js'
import type { HostView } from '../../src/api/api-types.js'

const HOST: HostView = {
  ...{ host: 'a.example', pending: 1, inFlight: 0, done: 0, failed: 0, dead: 0, nextAt: 0, blockedUntil: null },
  ...{ throttles: 0, latencyMs: null, set: null, nextSlot: 'now', budget: { used: 1, of: null } },
  ...{ delayMs: 2_000, slowedFromMs: null, concurrency: 4, ratePerSecond: null },
}

describe('the pace of a host in words', () => {
  it('names the delay, what it was slowed from, the rate and how many at once', () => {
    expect(paceText(HOST)).toBe('every 2 s, 4 at once')
    expect(paceText({ ...HOST, slowedFromMs: 250 })).toBe('every 2 s (slowed from 250 ms), 4 at once')
    expect(paceText({ ...HOST, delayMs: 0, ratePerSecond: 15 })).toBe('15/s, 4 at once')
    expect(shortPaceText(HOST)).toBe('2 s · 4 at once')
    expect(shortPaceText({ ...HOST, delayMs: 0 })).toBe('no delay · 4 at once')
    expect(shortPaceText({ ...HOST, delayMs: 0, ratePerSecond: 15 })).toBe('15/s · 4 at once')
  })

  it('tells what a person has set from what robots.txt asks for', () => {
    expect(isSetByHand({ ...HOST, set: { floorMs: 5_000 } })).toBe(false)
    expect(isSetByHand({ ...HOST, set: { delayMs: null, concurrency: 2 } })).toBe(true)
    expect(isBlocked({ ...HOST, set: { blocked: true } })).toBe(true)
    expect(isBlocked({ ...HOST, set: { blocked: null } })).toBe(false)
  })
})
