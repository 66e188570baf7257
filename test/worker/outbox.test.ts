import { expect, it } from 'vitest'
import type { Outcome } from '../../src/frontier/frontier.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { BackendWatch } from '../../src/while-away.js'
import { Outbox } from '../../src/worker/outbox.js'
import { visitParts } from './visit-parts.js'

function outbox(inFlight = 1, short = true) {
  const { parts, clock, leased, ended } = visitParts()
  const calls: string[] = []
  /** While the queue is slow, its calls end one by one, by `answer`. */
  const queue = { slow: false, waiting: [] as (() => void)[] }
  const answered = async () => {
    if (queue.slow) await new Promise<void>((resolve) => queue.waiting.push(resolve))
  }
  const answer = async () => {
    queue.waiting.shift()?.()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
  const box = new Outbox({
    ...{ clock, meter: parts.meter, backends: new BackendWatch(parts.log, clock) },
    frontier: {
      async release(releases) {
        calls.push(`release ${releases.length}`)
        await answered()
      },
      async settle(settlements) {
        calls.push(`settle ${settlements.length}`)
        await answered()
        return settlements.map(() => true)
      },
    },
    store: {
      records: {
        async write({ records }) {
          calls.push(`write ${records.length}`)
          return records.map(() => 'written')
        },
      },
      visits: { last: async () => [] },
    },
    inFlight: () => inFlight,
    isShort: () => short,
    onFlush: () => void calls.push('flush'),
    onFailure() {},
  })
  const { lease } = leased()
  const release = () => box.release({ lease, host: lease.link.host, elapsedMs: 5, report: { kind: 'ok' } })
  return { box, calls, clock, ended, lease, release, queue, answer }
}

const BACK = (): Outcome => ({ kind: 'back', afterMs: 0 })
const HANGS = { put: () => new Promise(() => {}), hurry() {} } satisfies Partial<BlobStore> as unknown as BlobStore

it('sends at once what few visits have, and in one call what they have in the same turn', async () => {
  const { box, calls, lease } = outbox()
  await Promise.all([box.settle(lease, BACK), box.settle(lease, BACK)])
  expect(calls).toEqual(['settle 2', 'flush'])
})

it('waits ten milliseconds for more when many visits are in flight', async () => {
  const { box, calls, lease, clock } = outbox(100)
  const settled = box.settle(lease, BACK)
  clock.advance(9)
  await Promise.resolve()
  expect(calls).toEqual([])
  clock.advance(1)
  expect(await settled).toBe(true)
  expect(calls).toEqual(['settle 1', 'flush'])
})

it('gathers for longer while there is more work than slots, but a free slot waits only ten milliseconds for its lease', async () => {
  const { box, calls, lease, clock, release } = outbox(100, false)
  const settled = box.settle(lease, BACK)
  release()
  clock.advance(10)
  expect(calls).toEqual(['flush'])
  clock.advance(29)
  expect(calls).toEqual(['flush'])
  clock.advance(1)
  expect(await settled).toBe(true)
  expect(calls).toEqual(['flush', 'release 1', 'settle 1', 'flush'])
})

it('has one exchange with a slow queue under way: what comes meanwhile makes the next one larger', async () => {
  const { box, calls, lease, clock, release, queue, answer } = outbox(100)
  queue.slow = true
  const settle = () => void box.settle(lease, BACK)
  settle()
  clock.advance(10)
  for (let nth = 0; nth < 50; nth++) {
    settle()
    release()
    clock.advance(10)
  }
  expect(calls.filter((call) => call !== 'flush')).toEqual(['settle 1'])
  await answer()
  expect(calls.filter((call) => call !== 'flush')).toEqual(['settle 1', 'release 50', 'settle 50'])
})

it('a settle does not overtake the release of its lease', async () => {
  const { box, calls, lease, release, queue, answer } = outbox(1)
  queue.slow = true
  release()
  await Promise.resolve()
  release()
  void box.settle(lease, BACK)
  await Promise.resolve()
  expect(calls).toEqual(['release 1', 'flush', 'flush'])
  await answer()
  expect(calls).toEqual(['release 1', 'flush', 'flush', 'release 1', 'settle 1', 'flush'])
})

it('a permit waits until every release before it has reached the queue', async () => {
  const { box, release, queue, answer, calls } = outbox(100)
  queue.slow = true
  release()
  const first = box.released()
  await Promise.resolve()
  await Promise.resolve()
  release()
  let reached = false
  void box.released().then(() => {
    reached = true
  })
  await answer()
  await first
  expect(calls.filter((call) => call !== 'flush')).toEqual(['release 1', 'release 1'])
  expect(reached).toBe(false)
  await answer()
  expect(reached).toBe(true)
})

it('asks for an outcome when it is sent, not when it is handed in', async () => {
  const { box, lease, clock } = outbox(100)
  let asked = 0
  const settled = box.settle(lease, () => {
    asked++
    return BACK()
  })
  expect(asked).toBe(0)
  clock.advance(10)
  await settled
  expect(asked).toBe(1)
})

it.each(['before', 'after'])(
  'a page that cannot be kept keeps nobody waiting, handed in %s the worker gives up',
  async (when) => {
    const { box, ended } = outbox()
    if (when === 'after') box.giveUp()
    const kept = box.keep(HANGS, Buffer.from('page'), 'text/html')
    if (when === 'before') box.giveUp()
    expect(await ended(kept)).toMatchObject({ code: 'aborted' })
    expect(box.crowded).toBe(false)
  },
)
