import { describe, expect, it } from 'vitest'
import { ManualClock } from '../src/clock.js'
import { ShoalError } from '../src/errors.js'
import { silentLog } from '../src/log.js'
import { awayPause, BackendWatch, pauseUntil, warnUnlessAway, whileAway } from '../src/while-away.js'

const down = () => new ShoalError('queue_down', 'connection refused')

/** Fails so many times, then answers. */
function flaky(failures: number, error: () => unknown = down): () => Promise<string> {
  let calls = 0
  return async () => {
    if (calls++ < failures) throw error()
    return `after ${calls} calls`
  }
}

function logged() {
  const lines: string[] = []
  const warn = (event: string, fields?: object) => void lines.push(`${event} ${JSON.stringify(fields)}`)
  return { lines, log: { ...silentLog, warn } }
}

describe('whileAway', () => {
  it('repeats the call with growing pauses, up to a second', async () => {
    const pauses: number[] = []
    const answer = await whileAway(flaky(7), async (ms) => void pauses.push(ms))
    expect(answer).toBe('after 8 calls')
    expect(pauses.map(Math.round)).toEqual([200, 300, 450, 675, 1000, 1000, 1000])
    expect(awayPause(1_000)).toBe(1_000)
  })

  it('throws at once what no waiting changes', async () => {
    const pause = async () => expect.fail('no pause')
    await expect(
      whileAway(
        flaky(1, () => new ShoalError('queue_auth', 'no')),
        pause,
      ),
    ).rejects.toThrow('no')
    await expect(
      whileAway(
        flaky(1, () => new Error('a bug')),
        pause,
      ),
    ).rejects.toThrow('a bug')
  })

  it('gives up when the signal aborts: the pause ends early and the last failure is thrown', async () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    let calls = 0
    const call = async () => {
      calls++
      throw down()
    }
    const waiting = whileAway(call, pauseUntil(stop.signal, clock))
    await expect.poll(() => calls).toBe(1)
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'queue_down' })
    expect(calls).toBe(2)
  })
})

describe('BackendWatch', () => {
  it('logs an outage once and its end once', async () => {
    const { lines, log } = logged()
    const clock = new ManualClock()
    const watch = new BackendWatch(log, clock)
    await watch.wait('store', flaky(3), async (ms) => clock.advance(ms))
    expect(lines).toEqual([
      'backend.waiting {"part":"store","code":"queue_down","message":"connection refused"}',
      'backend.back {"part":"store","awayMs":950}',
    ])
    expect(watch.answered('store')).toBe(false)
  })
})

it('warnUnlessAway leaves outages out of the log', () => {
  const { lines, log } = logged()
  warnUnlessAway(log, down())
  warnUnlessAway(log, new Error('a bug'))
  expect(lines).toEqual(['backend.waiting {"message":"a bug"}'])
})
