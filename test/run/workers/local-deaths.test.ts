import { afterEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { createLog } from '../../../src/log.js'
import { forfeitLocalDeaths, listEveryMs } from '../../../src/run/workers/local-deaths.js'
import { linkTo, specOf, workerOf } from '../../contract/frontier-fixtures.js'

const stop = new AbortController()
afterEach(() => stop.abort())

async function fleet() {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
  await frontier.open(specOf())
  await frontier.add('c1', [linkTo('a.test/1'), linkTo('a.test/2'), linkTo('a.test/3')])
  for (const worker of ['here-1', 'here-2', 'there-1']) await workerOf(frontier, worker).lease(1)
  const dead = new Set<string>()
  const lines: string[] = []
  const log = createLog('info', clock, (line) => lines.push(line))
  const processes = { isLocal: (id: string) => id.startsWith('here'), isGone: (id: string) => dead.has(id) }
  const run = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { clock, frontier, dead, lines, log, processes, run }
}

describe('the death of a worker on this machine', () => {
  it('is noticed within a second, and what it held is leased to others', async () => {
    const { clock, frontier, dead, lines, log, processes, run } = await fleet()
    const watching = forfeitLocalDeaths(frontier, { clock, log, signal: stop.signal }, processes)
    await run(2_000)
    expect(await frontier.stats('c1')).toMatchObject({ leased: 3 })
    dead.add('here-1').add('there-1')
    await run(900)
    // Of another machine nothing is known.
    expect(await frontier.stats('c1')).toMatchObject({ leased: 2, queued: 1, reclaimed: 1 })
    expect((await frontier.workers()).map(({ worker }) => worker)).toEqual(['here-2', 'there-1'])
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ event: 'worker.died', worker: 'here-1', reclaimed: 1 })
    stop.abort()
    await watching
  })

  it('is not forgotten while the queue is down', async () => {
    const { clock, frontier, dead, log, processes, run } = await fleet()
    const signal = new AbortController()
    let down = false
    const queue = {
      workers: () => frontier.workers(),
      forfeit: async (worker: string) => {
        if (down) throw new ShoalError('queue_down', 'down')
        return frontier.forfeit(worker)
      },
    }
    const watching = forfeitLocalDeaths(queue, { clock, log, signal: signal.signal }, processes)
    await run(500)
    down = true
    dead.add('here-2')
    await run(3_000)
    down = false
    await run(900)
    expect(await frontier.stats('c1')).toMatchObject({ leased: 2, reclaimed: 1 })
    signal.abort()
    await watching
  })

  it('is looked for less often in a large fleet, so that all of it together reads the list no more than a small one', () => {
    expect(listEveryMs(4)).toBe(2_000)
    expect(listEveryMs(100)).toBe(5_000)
    expect(listEveryMs(1_000)).toBe(500_000)
  })
})
