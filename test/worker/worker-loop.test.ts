import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { LeaseReply, LeaseRequest, Outcome } from '../../src/frontier/frontier.js'
import { BackendWatch } from '../../src/while-away.js'
import { CrawlWorker, type PartsOf } from '../../src/worker/worker.js'
import { WorkerSlots } from '../../src/worker/worker-slots.js'
import { PAGE, visitParts } from './visit-parts.js'

/** A worker of two slots whose queue gives these replies, one for each lease call, and then nothing. */
function worker(replies: (Partial<LeaseReply> | Error)[], parts: ReturnType<PartsOf> = null) {
  const {
    parts: { log, meter },
    clock,
    events,
  } = visitParts()
  const calls: LeaseRequest[] = []
  const settled: [url: string, outcome: Outcome][] = []
  let pokes = 0
  const loop = new CrawlWorker({
    ...{ id: 'w1', spiders: ['visits'], clock, log, meter },
    slots: new WorkerSlots({
      ...{ most: 2, mostCommitting: 256, clock, heapLimitBytes: 1e9 },
      ...{ loop: { idleMs: () => clock.mono() }, memory: () => 0, onChange() {} },
    }),
    about: { machine: 'm', pid: 1, version: '0', spiders: {}, concurrency: 2 },
    backends: new BackendWatch(log, clock),
    frontier: {
      async lease(request) {
        calls.push(request)
        const reply = replies.shift() ?? {}
        if (reply instanceof Error) throw reply
        return { leases: [], idleMs: 1_000, drain: false, ...reply }
      },
    },
    outbox: {
      async settle({ token }, outcome) {
        settled.push([token, outcome()])
        return true
      },
      poke: () => void pokes++,
      giveUp() {},
    },
    partsOf: () => parts,
  })
  const turns = async () => {
    for (let n = 0; n < 10; n++) await setImmediate()
  }
  return { loop, clock, calls, settled, turns, events, pokes: () => pokes }
}

it('leases for its free slots only, and says where it runs the first time', async () => {
  const never = new Promise<null>(() => {})
  const { loop, calls, turns } = worker([{ leases: [visitParts().leased().lease] }], never)
  void loop.run()
  await turns()
  loop.wake()
  await turns()
  expect(calls).toMatchObject([
    { worker: 'w1', seq: 1, want: 2, spiders: ['visits'], about: { machine: 'm' } },
    { worker: 'w1', seq: 2, want: 1 },
  ])
  expect(loop.inFlight).toBe(1)
})

it('hands back links of a spider that it does not have, for a while', async () => {
  const { loop, settled, turns, pokes } = worker([{ leases: [visitParts().leased().lease] }])
  void loop.run()
  await turns()
  expect(settled).toEqual([[PAGE, { kind: 'back', afterMs: 5_000 }]])
  expect(pokes()).toBe(1)
})

it('repeats a lease call with the same number while the queue is down, and says again where it runs', async () => {
  const { loop, clock, calls, turns, events } = worker([{}, new ShoalError('queue_down', 'down'), {}, {}])
  void loop.run()
  for (let n = 0; n < 40; n++) {
    await turns()
    clock.advance(100)
  }
  expect(calls.slice(0, 4).map(({ seq, about }) => [seq, about !== undefined])).toEqual([
    [1, true],
    [2, false],
    [2, false],
    [3, true],
  ])
  expect(events.map(({ event }) => event)).toEqual(['worker.started', 'backend.waiting', 'backend.back'])
})

it('ends with the failure of a backend that cannot be used', async () => {
  const full = new ShoalError('disk_full', 'the disk is full')
  const { loop } = worker([full])
  await expect(loop.run()).rejects.toBe(full)
})

it('hands back what was leased while it was being stopped', async () => {
  const { loop, settled, turns } = worker([{ leases: [visitParts().leased().lease] }])
  const running = loop.run()
  const stopped = loop.stop(1_000)
  await turns()
  await Promise.all([running, stopped])
  expect(settled).toEqual([[PAGE, { kind: 'back', afterMs: 0 }]])
})

it('leases nothing while the queue asks for empty hands, and waits no longer than the queue says', async () => {
  const { loop, clock, calls, turns } = worker([{ drain: true, idleMs: 300 }])
  void loop.run()
  await turns()
  clock.advance(299)
  await turns()
  expect(calls).toHaveLength(1)
  clock.advance(1)
  await turns()
  expect(calls).toHaveLength(2)
})
