import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { WorkerSlots } from '../../src/worker/worker-slots.js'

const MB = 1024 * 1024

function slots({ most = 64, heapLimitBytes = 4_096 * MB } = {}) {
  const clock = new ManualClock(0)
  const changes: string[] = []
  let idleMs = 0
  let memory = 0
  const of = new WorkerSlots({
    ...{ most, mostCommitting: 256, clock, heapLimitBytes },
    loop: { idleMs: () => idleMs },
    memory: () => memory,
    onChange: ({ slots: now, because }) => changes.push(`${now} ${because}`),
  })
  return {
    of,
    changes,
    clock,
    idle(ms: number) {
      clock.advance(ms)
      idleMs += ms
    },
    fill(share: number) {
      memory = share
    },
    visit: () => ({ bodyBytes: 0 }),
  }
}

it('starts with a few, and with no more than its ceiling', () => {
  expect(slots().of.now).toBe(4)
  expect(slots({ most: 3 }).of.now).toBe(3)
})

it('takes a step up as soon as half of the slots have responded, not only after its usual time', () => {
  const { of, idle, changes, visit } = slots()
  of.leased(4, 4, 4)
  idle(20)
  expect(of.decide(4, 0)).toBe(false)
  of.answered(visit(), 0, 0, 0)
  of.answered(visit(), 0, 0, 0)
  expect(of.decide(4, 0)).toBe(true)
  expect(changes).toEqual(['8 growing'])
})

it('does not count responses to what was sent before the number changed', () => {
  const { of, idle, visit } = slots()
  of.leased(4, 4, 4)
  idle(20)
  for (let n = 0; n < 4; n++) of.answered(visit(), 0, 0, 0)
  of.decide(4, 0)
  idle(20)
  for (let n = 0; n < 8; n++) of.answered(visit(), 19, 0, 0)
  expect(of.decide(8, 0)).toBe(false)
  for (let n = 0; n < 4; n++) of.answered(visit(), 20, 0, 0)
  of.leased(4, 4, 8)
  expect(of.decide(8, 0)).toBe(true)
  expect(of.now).toBe(16)
})

it('is full of bodies above 64 MiB, or an eighth of a small heap, until handlers have dealt with them', () => {
  const { of } = slots()
  const [one, two] = [{ bodyBytes: 0 }, { bodyBytes: 0 }]
  of.answered(one, 0, 0, 60 * MB)
  expect(of.isFullOfBodies).toBe(false)
  of.answered(two, 0, 0, 5 * MB)
  expect(of.isFullOfBodies).toBe(true)
  // A redirect, and then its page: only the last body of a visit is held.
  of.answered(two, 0, 0, 1 * MB)
  expect(of.isFullOfBodies).toBe(false)
  of.handled(one)
  of.handled(one)
  of.answered(two, 0, 0, 64 * MB)
  expect(of.isFullOfBodies).toBe(false)
  const small = slots({ heapLimitBytes: 80 * MB }).of
  small.answered({ bodyBytes: 0 }, 0, 0, 11 * MB)
  expect(small.isFullOfBodies).toBe(true)
})

it('says when the reason changes, though the number does not', () => {
  const { of, idle, changes, fill } = slots()
  of.leased(4, 1, 1)
  idle(250)
  of.decide(1, 0)
  of.leased(4, 4, 4)
  fill(0.85)
  idle(250)
  of.decide(4, 0)
  expect(changes).toEqual(['4 work', '4 memory'])
  fill(0.95)
  idle(250)
  of.decide(4, 0)
  expect(changes.at(-1)).toBe('2 memory')
})
