import { describe, expect, it } from 'vitest'
import { ManualClock, seededRandom, systemClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import { keepAlive, reapAlways, type Ward } from '../../src/keeper/lease-keeper.js'

/** A queue that answers as state. */
function queue() {
  const calls = { beats: [] as number[], keep: 0, reap: [] as number[], disowned: [] as string[] }
  const state = { held: [] as string[], down: false, expired: 0, expected: true }
  const answer = {
    async beat(_worker: string, lostAfterMs: number) {
      if (state.down) throw new ShoalError('queue_down', 'down')
      calls.beats.push(lostAfterMs)
      return state.expected
    },
    async keep(_worker: string, _holdMs: number, disowned: readonly string[]) {
      calls.keep++
      calls.disowned = [...disowned]
      if (state.down) throw new ShoalError('queue_down', 'down')
      return state.held
    },
    async reap(limit: number) {
      if (state.down) throw new ShoalError('queue_down', 'down')
      const reaped = Math.min(limit, state.expired)
      state.expired -= reaped
      calls.reap.push(reaped)
      return reaped
    },
  }
  return { calls, state, parts: { queue: Promise.resolve(answer), clock: systemClock, random: seededRandom(1) } }
}

function ward(lost: string[]): Ward {
  return {
    ...{ worker: 'w', lostAfterMs: 10_000, heartbeatMs: 20, holdMs: 1_000, believed: [], messages: 0 },
    onReady: () => {},
    onLost: (tokens) => lost.push(...tokens),
  }
}

/** Everything that follows from what happened so far has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const holding = (...names: string[]) =>
  names.map((name) => ({
    ...{ token: `token-${name}`, epoch: name, settling: false, waiting: false },
  }))

describe('keeping leases', () => {
  it('reports those that the worker had before the call and the queue no longer has', async () => {
    const { state, parts } = queue()
    const lost: string[] = []
    const one = ward(lost)
    const stop = new AbortController()
    state.held = ['1', '2']
    one.believed = holding('1', '2')
    const keeping = keepAlive(one, parts, stop.signal)
    await systemClock.sleep(100)
    expect(lost).toEqual([])
    state.held = ['2']
    await expect.poll(() => lost).toContain('token-1')
    expect(lost).not.toContain('token-2')
    stop.abort()
    await keeping
  })

  it('continues after the queue was down, and takes nothing for lost meanwhile', async () => {
    const { calls, state, parts } = queue()
    const lost: string[] = []
    const one = ward(lost)
    const stop = new AbortController()
    one.believed = holding('1')
    state.held = ['1']
    const keeping = keepAlive(one, parts, stop.signal)
    await expect.poll(() => calls.keep).toBeGreaterThan(3)
    state.down = true
    await systemClock.sleep(300)
    state.down = false
    const before = calls.keep
    await expect.poll(() => calls.keep).toBeGreaterThan(before + 1)
    expect(lost).toEqual([])
    stop.abort()
    await keeping
  })

  it('lets go of what the worker never names, if the worker has had its say often enough', async () => {
    const { calls, state, parts } = queue()
    const one = ward([])
    const stop = new AbortController()
    state.held = ['1', '2']
    one.believed = holding('1')
    const keeping = keepAlive(one, parts, stop.signal)
    await expect.poll(() => calls.keep).toBeGreaterThan(10)
    // Its event loop is blocked: nobody can say what it has.
    expect(calls.disowned).toEqual([])
    one.messages = 10
    await expect.poll(() => calls.disowned).toEqual(['2'])
    // The reply of the lease call had been on its way for long.
    one.believed = holding('1', '2')
    await expect.poll(() => calls.disowned).toEqual([])
    stop.abort()
    await keeping
  })

  it('reports no lease whose end is on its way', async () => {
    const { calls, parts } = queue()
    const lost: string[] = []
    const one = ward(lost)
    const stop = new AbortController()
    one.believed = holding('1').map((lease) => ({ ...lease, settling: true }))
    const keeping = keepAlive(one, parts, stop.signal)
    await expect.poll(() => calls.keep).toBeGreaterThan(3)
    expect(lost).toEqual([])
    stop.abort()
    await keeping
  })
})

describe('beating', () => {
  it('begins at once, is ready with the first beat, and beats four times in the time after which the worker is lost', async () => {
    const { calls, state, parts } = queue()
    const clock = new ManualClock()
    const stop = new AbortController()
    let ready = 0
    state.down = true
    const one = { ...ward([]), heartbeatMs: 60_000, onReady: () => ready++ }
    const keeping = keepAlive(one, { ...parts, clock }, stop.signal)
    await settled()
    expect(ready).toBe(0)
    state.down = false
    for (let passed = 0; passed <= one.lostAfterMs; passed += 100) {
      clock.advance(100)
      await settled()
    }
    expect(ready).toBe(1)
    expect(calls.beats).toEqual(Array(4).fill(one.lostAfterMs))
    expect(calls.keep).toBe(0)
    stop.abort()
    await keeping
  })

  it('finds out what is lost at once when its beat was no longer expected', async () => {
    const { state, parts } = queue()
    const lost: string[] = []
    const clock = new ManualClock()
    const stop = new AbortController()
    const one = { ...ward(lost), heartbeatMs: 60_000 }
    state.held = ['1']
    one.believed = holding('1')
    const keeping = keepAlive(one, { ...parts, clock }, stop.signal)
    await settled()
    // The process was frozen.
    state.expected = false
    state.held = []
    clock.advance(one.lostAfterMs / 4)
    await settled()
    expect(lost).toEqual(['token-1'])
    stop.abort()
    await keeping
  })
})

describe('reaping', () => {
  it('is bounded in each call, continues while there is more, and survives a queue that is down', async () => {
    const { calls, state, parts } = queue()
    state.down = true
    const stop = new AbortController()
    const reaping = reapAlways(parts, stop.signal)
    await systemClock.sleep(1_200)
    state.expired = 450
    state.down = false
    await expect.poll(() => calls.reap.length, { timeout: 5_000 }).toBeGreaterThan(2)
    expect(calls.reap.slice(0, 3)).toEqual([200, 200, 50])
    stop.abort()
    await reaping
  })
})
