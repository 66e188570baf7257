import { expect, it } from 'vitest'
import type { Outcome } from '../../src/frontier/frontier.js'
import type { BlobStore } from '../../src/store/blob-store.js'
import { BackendWatch } from '../../src/while-away.js'
import { Outbox } from '../../src/worker/outbox.js'
import { visitParts } from './visit-parts.js'

function outbox(inFlight = 1) {
  const { parts, clock, leased, ended } = visitParts()
  const calls: string[] = []
  const box = new Outbox({
    ...{ clock, meter: parts.meter, backends: new BackendWatch(parts.log, clock) },
    frontier: {
      async release(releases) {
        calls.push(`release ${releases.length}`)
      },
      async settle(settlements) {
        calls.push(`settle ${settlements.length}`)
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
    onFlush: () => void calls.push('flush'),
    onFailure() {},
  })
  return { box, calls, clock, ended, lease: leased().lease }
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
