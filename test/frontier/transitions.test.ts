import { describe, expect, it } from 'vitest'
import { type LinkState, type LinkSteer, REMOVED, SOLO_AFTER } from '../../src/frontier/frontier.js'
import { AFTER_REMOVAL, afterReclaim, afterSettle, isSolo, steerStep } from '../../src/frontier/transitions.js'
import { dead, done, FAILURE, retry } from '../contract/frontier-fixtures.js'

const UNCHANGED = { afterMs: 0, attempts: 0, throttles: 0, demoted: false, failure: null, counts: {} }

describe('a settle', () => {
  it.each([
    ['done', done([], 7), { to: 'done', attempts: 1, counts: { bytes: 7 } }],
    ['dead', dead(), { to: 'dead', attempts: 1, failure: FAILURE, counts: { failed: 1 } }],
    ['skipped', { kind: 'skipped', failure: FAILURE } as const, { to: 'skipped', failure: FAILURE }],
    ['back', { kind: 'back', afterMs: 5 } as const, { to: 'pending', afterMs: 5 }],
    [
      'a retry that costs an attempt',
      retry(5),
      { to: 'pending', afterMs: 5, attempts: 1, demoted: true, failure: FAILURE, counts: { failed: 1, retried: 1 } },
    ],
    [
      'a retry that does not',
      retry(5, { countsAsAttempt: false }),
      { to: 'pending', afterMs: 5, throttles: 1, failure: FAILURE, counts: { throttled: 1 } },
    ],
    ['a wait that is over', { kind: 'back', afterMs: -5 } as const, { to: 'pending', afterMs: 0 }],
  ])('%s', (_, outcome, changes) => {
    expect(afterSettle(outcome)).toEqual({ ...UNCHANGED, ...changes })
  })
})

describe('a reclaim', () => {
  it('returns the link to the queue, alone from the second on, and ends it after maxReclaims more', () => {
    const counts = { reclaimed: 1 }
    expect(afterReclaim(1, 1)).toEqual({ ...UNCHANGED, to: 'pending', counts })
    expect([1, SOLO_AFTER, 9].map(isSolo)).toEqual([false, true, true])
    expect(afterReclaim(SOLO_AFTER, 1)).toEqual({ ...UNCHANGED, to: 'pending', counts })
    const failure = { code: 'poison', message: 'its lease ran out 3 times' }
    expect(afterReclaim(SOLO_AFTER + 1, 1)).toEqual({ ...UNCHANGED, to: 'dead', failure, counts })
    expect(afterReclaim(SOLO_AFTER, 0).to).toBe('dead')
  })
})

describe('a step by hand', () => {
  const STATES: readonly LinkState[] = ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped']
  it.each<[LinkSteer, readonly string[]]>([
    ['promote', ['promote', 'promote', 'in_flight', 'ended', 'ended', 'ended']],
    ['retry', ['nothing', 'due', 'in_flight', 'ended', 'replay', 'ended']],
    ['remove', ['skip', 'skip', 'in_flight', 'ended', 'skip', 'ended']],
  ])('%s', (order, steps) => {
    expect(STATES.map((state) => steerStep(state, order))).toEqual(steps)
  })

  it('that removes a link says so among its failures', () => {
    expect(AFTER_REMOVAL).toEqual({ ...UNCHANGED, to: 'skipped', failure: REMOVED })
  })
})
