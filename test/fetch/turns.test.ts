import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { createTurns } from '../../src/fetch/http/turns.js'

/** An event loop of which each step is made by hand. */
function loopByHand() {
  const clock = new ManualClock(0)
  let idleMs = 0
  let ends: (() => void)[] = []
  const turns = createTurns(clock, { idleMs: () => idleMs, afterTurn: (fire) => void ends.push(fire) })
  return {
    turns,
    busy: (ms: number) => clock.advance(ms),
    wait(ms: number) {
      clock.advance(ms)
      idleMs += ms
    },
    endTurn() {
      for (const end of ends.splice(0)) end()
      ends = []
    },
  }
}

it('gives the exact time when the loop waited for the response', () => {
  const { turns, busy, wait, endTurn } = loopByHand()
  const sentAt = turns.dispatched()
  busy(10)
  endTurn()
  wait(40)
  expect(turns.arrived() - sentAt).toBe(50)
  // Read second, after the first one was handled: it was there at the same time.
  busy(100)
  expect(turns.arrived() - sentAt).toBe(50)
})

it('does not count the time in which our own code ran and the response may have been there', () => {
  const { turns, busy, endTurn } = loopByHand()
  busy(5)
  const sentAt = turns.dispatched()
  busy(100)
  endTurn()
  expect(turns.arrived() - sentAt).toBeLessThanOrEqual(0)
})

it('counts the time of whole turns in which the response was not there', () => {
  const { turns, busy, endTurn } = loopByHand()
  const sentAt = turns.dispatched()
  busy(100)
  endTurn()
  // The loop looked, and found another response only.
  turns.arrived()
  busy(100)
  endTurn()
  expect(turns.arrived() - sentAt).toBe(100)
})

it('does not count turns in which nothing was sent or received', () => {
  const { turns, busy, wait, endTurn } = loopByHand()
  const sentAt = turns.dispatched()
  endTurn()
  wait(2)
  // A timer's code, in a turn of its own. The response arrived at its beginning, or at any time after that.
  busy(300)
  expect(turns.arrived() - sentAt).toBe(2)
})

it('takes the look itself for no wait: it is slow on a busy machine', () => {
  const { turns, busy, wait, endTurn } = loopByHand()
  const sentAt = turns.dispatched()
  busy(100)
  endTurn()
  wait(3)
  expect(turns.arrived() - sentAt).toBe(0)
})
