import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { grantTime, isFresh, patienceOf, sleepUnlessStopped, untilBack } from '../../src/worker/waits.js'
import { visitParts } from './visit-parts.js'

it('counts a grant from its answer, and from the question when the process was frozen in between', () => {
  expect(grantTime(1_000, 3_000)).toBe(3_000)
  expect(grantTime(1_000, 3_001)).toBe(1_000)
})

it('takes a grant for fresh up to its last millisecond', () => {
  const { clock } = visitParts()
  const granted = { at: clock.mono(), forMs: 10 }
  clock.advance(10)
  expect(isFresh(granted, clock)).toBe(true)
  clock.advance(1)
  expect(isFresh(granted, clock)).toBe(false)
})

it('is patient for five seconds, and for ten minutes where going back would be in vain', () => {
  const { leased } = visitParts()
  expect([patienceOf(leased()), patienceOf({ ...leased(), patient: true })]).toEqual([5_000, 600_000])
})

it('wakes within a tenth of a second when the visit is given up', async () => {
  const { clock, leased, ended } = visitParts()
  const current = leased()
  const began = clock.mono()
  const sleeping = ended(sleepUnlessStopped(60_000, current, clock))
  current.stop.aborted = true
  expect(await sleeping).toMatchObject({ code: 'aborted' })
  expect(clock.mono() - began).toBeLessThanOrEqual(200)
})

it('wakes in time on a busy machine: the slices of a sleep do not add up their delays', async () => {
  const { clock, leased } = visitParts()
  let now = 0
  const late = {
    ...{ now: () => now, mono: () => now, after: clock.after },
    sleep: async (ms: number) => {
      now += ms + 25
    },
  }
  await sleepUnlessStopped(4_000, leased(), late)
  expect(now, 'late by one slice, not by forty').toBeLessThanOrEqual(4_025)
})

it('repeats a call while the queue is down, and passes on any other failure', async () => {
  const { clock, leased, ended } = visitParts()
  const down = new ShoalError('queue_down', 'the queue is down')
  const answers = [down, down, 'back']
  const call = async () => {
    const answer = answers.shift()
    if (answer instanceof Error) throw answer
    return answer
  }
  expect(await ended(untilBack(call, leased(), clock))).toBe('back')
  const defect = new ShoalError('internal', 'a defect')
  expect(await ended(untilBack(() => Promise.reject(defect), leased(), clock))).toBe(defect)
})
