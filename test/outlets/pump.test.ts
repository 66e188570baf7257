import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seededRandom, systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import { type Log, silentLog } from '../../src/log.js'
import { pauseAfter } from '../../src/outlets/backoff.js'
import { type PumpEnd, type PumpParts, pump } from '../../src/outlets/pump.js'
import type { Batch, Sent, Sink } from '../../src/outlets/sink.js'
import { type Changes, FROM_START } from '../../src/store/changes.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { batch, record } from '../contract/record-store-contract.js'
import { until } from '../support/redis-server.js'

const OUTLET = { name: 'books/test', spider: 'books', kinds: null, batch: 3 }
const TIMING = { claimMs: 300, lookMs: 20, idleMs: 5 }
const TAKEN: Sent = { kind: 'taken', trimmed: 0 }

/** Answers what it is told to, and keeps what it took. */
class FakeSink implements Sink {
  readonly taken: string[] = []
  readonly tried: Batch[] = []
  answer: (batch: Batch) => Sent | Promise<Sent> = () => TAKEN

  async send(sent: Batch): Promise<Sent> {
    this.tried.push(sent)
    const answer = await this.answer(sent)
    if (answer.kind === 'taken') this.taken.push(...sent.records.map(({ key }) => key))
    return answer
  }

  async close(): Promise<void> {}
}

let store: RecordStore
let sink: FakeSink
let running: { finish: AbortController; stop: AbortController; end: Promise<PumpEnd> }[]
beforeEach(() => {
  store = memoryRecordStore()
  sink = new FakeSink()
  running = []
})
afterEach(async () => {
  for (const { stop } of running) stop.abort()
  await Promise.all(running.map(({ end }) => end))
})

function start(fields: Partial<PumpParts> = {}) {
  const finish = new AbortController()
  const stop = new AbortController()
  const end = pump({
    ...{ outlet: OUTLET, store, sink, holder: 'p1', isGone: () => false, clock: systemClock },
    ...{ random: () => 0, log: silentLog, timing: TIMING, finish: finish.signal, stop: stop.signal },
    ...fields,
  })
  const one = { finish, stop, end }
  running.push(one)
  return one
}

const write = (...keys: string[]) => store.records.write(batch({ records: keys.map((key) => record({ key })) }))
const info = async () => (await store.outlets.list())[0]
const keysTo = (n: number) => Array.from({ length: n }, (_, i) => `k${String(i).padStart(2, '0')}`)

describe('a pump', () => {
  it('takes everything to the sink in order and in batches, and goes on with what comes', async () => {
    await write(...keysTo(7))
    const { finish, end } = start()
    await until('the first seven', async () => sink.taken.length === 7)
    expect(sink.tried.map(({ records }) => records.length)).toEqual([3, 3, 1])
    await write('later')
    await until('the eighth', async () => sink.taken.length === 8)
    expect(sink.taken).toEqual([...keysTo(7), 'later'])
    finish.abort()
    expect(await end).toEqual({ kind: 'delivered', sent: 8 })
    expect(await info()).toMatchObject({ holder: null, sent: 8, error: null, stopped: false })
    await write('after the end')
    const again = start()
    again.finish.abort()
    expect(await again.end).toEqual({ kind: 'delivered', sent: 1 })
  })

  it('takes only the kinds that are asked for, and notes what trimming cost', async () => {
    await store.records.write(
      batch({ records: keysTo(8).map((key, i) => record({ key, kind: i % 2 ? 'author' : 'book' })) }),
    )
    sink.answer = () => ({ kind: 'taken', trimmed: 2 })
    const { finish, end } = start({ outlet: { ...OUTLET, kinds: ['author'] } })
    finish.abort()
    expect(await end).toMatchObject({ kind: 'delivered' })
    expect(sink.taken).toEqual(['k01', 'k03', 'k05', 'k07'])
    expect(await info()).toMatchObject({ kinds: ['author'], sent: 4, trimmed: 4 })
  })

  it('divides a page that is larger than a batch', async () => {
    await write(...keysTo(8))
    const whole = withChanges((query) => store.changes.read({ ...query, limit: 10 }))
    sink.answer = () => ({ kind: 'taken', trimmed: 1 })
    const { finish, end } = start({ store: whole })
    finish.abort()
    expect(await end).toEqual({ kind: 'delivered', sent: 8 })
    expect(sink.tried.map(({ records }) => records.length)).toEqual([3, 3, 2])
    expect(await info()).toMatchObject({ sent: 8, trimmed: 3 })
  })

  it('waits while the sink is away, says so, and loses nothing', async () => {
    const told: string[] = []
    const log: Log = { ...silentLog, warn: (event) => told.push(event), info: (event) => told.push(event) }
    await write(...keysTo(4))
    let failures = 2
    sink.answer = () => (failures-- > 0 ? { kind: 'down', message: 'nobody listens' } : TAKEN)
    const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 50, signal) }
    const { finish, end } = start({ log, clock })
    await until('the error', async () => (await info())?.error === 'nobody listens')
    await until('the records', async () => sink.taken.length === 4)
    await until('the note', async () => (await info())?.error === null)
    finish.abort()
    await end
    expect(sink.taken).toEqual(keysTo(4))
    expect(told).toEqual(['outlet.waiting', 'outlet.back'])
  })

  it('stops for good when the sink refuses, until it is reset', async () => {
    await write('a')
    sink.answer = () => ({ kind: 'refused', message: 'it answers 410' })
    const { finish, end } = start()
    await until('the stop', async () => (await info())?.stopped === true)
    expect(sink.tried).toHaveLength(1)
    sink.answer = () => TAKEN
    await systemClock.sleep(5 * TIMING.lookMs)
    expect(sink.tried).toHaveLength(1)
    expect(await info()).toMatchObject({ error: 'it answers 410', holder: null })
    await store.outlets.reset(OUTLET.name, 'books', null)
    await until('the record', async () => sink.taken.length === 1)
    finish.abort()
    expect(await end).toMatchObject({ kind: 'delivered' })
  })

  it('rests between looks also when the cursor moves with what is not asked for', async () => {
    let looks = 0
    let rests = 0
    const busy = withChanges(async (query) => {
      await store.records.write(batch({ records: [record({ key: `other-${looks++}`, spider: 'other' })] }))
      return store.changes.read(query)
    })
    const sleep = (ms: number, signal?: AbortSignal) => {
      if (ms === TIMING.idleMs) rests++
      return systemClock.sleep(ms, signal)
    }
    const { finish, end } = start({ store: busy, clock: { ...systemClock, sleep } })
    await until('some looks', async () => looks >= 5)
    expect(rests).toBeGreaterThanOrEqual(4)
    finish.abort()
    expect(await end).toEqual({ kind: 'delivered', sent: 0 })
  })

  it('begins again when it is reset while it runs', async () => {
    await write(...keysTo(4))
    const { finish, end } = start({ timing: { ...TIMING, claimMs: 60 } })
    await until('the four', async () => (await info())?.sent === 4)
    await store.outlets.reset(OUTLET.name, 'books', FROM_START)
    await until('the four again', async () => sink.taken.length === 8)
    finish.abort()
    expect(await end).toMatchObject({ kind: 'delivered', sent: 8 })
    expect(sink.taken).toEqual([...keysTo(4), ...keysTo(4)])
    expect(await store.changes.lag({ after: (await info())?.cursor ?? '', most: 1 })).toMatchObject({ records: 0 })
  })

  it('ends when asked to, with what is left for the next', async () => {
    await write(...keysTo(9))
    sink.answer = () => ({ kind: 'down', message: 'nobody listens' })
    const away = start()
    await until('a try', async () => sink.tried.length > 0)
    away.finish.abort()
    expect(await away.end).toEqual({ kind: 'behind', sent: 0, message: 'nobody listens' })
    // One that hangs.
    sink.answer = () => new Promise(() => {})
    const hanging = { send: (_: Batch, signal: AbortSignal) => untilAborted(signal), close: async () => {} }
    const late = start({ sink: hanging })
    await until('the hold', async () => (await info())?.holder === 'p1')
    late.stop.abort()
    expect(await late.end).toMatchObject({ kind: 'behind' })
    expect(await info()).toMatchObject({ holder: null })
    sink.answer = () => TAKEN
    const next = start({ holder: 'p2' })
    next.finish.abort()
    expect(await next.end).toEqual({ kind: 'delivered', sent: 9 })
  })

  it('one of several feeds the sink, and another takes over when it dies, with the batch it may have lost', async () => {
    await write(...keysTo(5))
    const second = new FakeSink()
    // The first one dies between the answer of the sink and the note: it never notes, and never renews.
    const frozen = { ...systemClock, sleep: () => new Promise<void>(() => {}) }
    void start({
      store: { ...store, outlets: bound(store.outlets, { note: () => new Promise<boolean>(() => {}) }) },
      clock: frozen,
    })
    await until('its first batch', async () => sink.taken.length === 3)
    running = []
    const { finish, end } = start({ sink: second, holder: 'p2' })
    await systemClock.sleep(TIMING.claimMs / 3)
    expect(second.taken).toEqual([])
    await until('the take-over', async () => second.taken.length === 5)
    finish.abort()
    await end
    expect(sink.taken).toEqual(keysTo(3))
    expect(second.taken).toEqual(keysTo(5))
    expect(second.tried[0]?.hold.epoch).toBeGreaterThan(sink.tried[0]?.hold.epoch ?? 0)
  })

  it('does not wait for the claim of a process that is known to be gone', async () => {
    await write('a')
    await store.outlets.claim({ ...OUTLET, holder: 'gone', forMs: 3_600_000 })
    const { finish, end } = start({ isGone: (holder) => holder === 'gone' })
    await until('the record', async () => sink.taken.length === 1)
    finish.abort()
    await end
  })

  it('ends with a store that is away, and goes on when it is back', async () => {
    await write('a')
    let away = true
    const flaky = withChanges(async (query) => {
      if (away) throw new ShoalError('db_busy', 'locked')
      return store.changes.read(query)
    })
    const { finish, end } = start({ store: flaky })
    await systemClock.sleep(50)
    expect(sink.tried).toEqual([])
    away = false
    await until('the record', async () => sink.taken.length === 1)
    finish.abort()
    expect(await end).toMatchObject({ kind: 'delivered', sent: 1 })
  })
})

function withChanges(read: Changes['read']): RecordStore {
  return { ...store, changes: bound(store.changes, { read }) }
}

/** A part of the store with some of its methods replaced. */
function bound<Part extends object>(of: Part, instead: Partial<Part>): Part {
  return new Proxy(of, {
    get(target, name) {
      const member: unknown = Reflect.get(instead, name) ?? Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

function untilAborted(signal: AbortSignal): Promise<Sent> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'down', message: 'given up' }))
  })
}

it('pauses grow to five minutes, vary, and respect what the sink asks for within an hour', () => {
  const random = seededRandom(1)
  for (let failures = 1; failures < 40; failures++) {
    const longest = Math.min(1_000 * 2 ** (failures - 1), 300_000)
    const pause = pauseAfter(failures, undefined, random)
    expect(pause).toBeGreaterThanOrEqual(longest / 2)
    expect(pause).toBeLessThanOrEqual(longest)
  }
  expect(pauseAfter(1, 90_000, random)).toBe(90_000)
  expect(pauseAfter(1, 9_000_000_000, random)).toBe(3_600_000)
})
