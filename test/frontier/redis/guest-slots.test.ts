import { expect, it } from 'vitest'
import { GuestSlots, slotField } from '../../../src/frontier/redis/guest-slots.js'

it('knows the slots that a lease still holds in other shards when it ends', () => {
  const slots = new GuestSlots()
  slots.leased('t1', 'w1')
  expect([slots.workerOf('t1'), slots.workerOf('t2')]).toEqual(['w1', ''])
  for (const host of ['a.test', 'b.test', 'b.test']) slots.taken({ token: 't1', host })
  slots.released({ token: 't1', host: 'a.test' })
  slots.released({ token: 't2', host: 'a.test' })
  const left = slots.ended(['t1', 't2'])
  expect(left).toEqual([{ token: 't1', host: 'b.test' }])
  expect(left.map(slotField)).toEqual(['t1\nb.test'])
  expect(slots.ended(['t1'])).toEqual([])
  expect(slots.workerOf('t1')).toBe('')
})

it('forgets those of a worker that was forfeited, which the queue frees', () => {
  const slots = new GuestSlots()
  for (const [token, worker] of [
    ['t1', 'w1'],
    ['t2', 'w2'],
  ] as const) {
    slots.leased(token, worker)
    slots.taken({ token, host: 'a.test' })
  }
  slots.forfeited('w1')
  expect(slots.ended(['t1', 't2'])).toEqual([{ token: 't2', host: 'a.test' }])
})
