import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import { silentLog } from '../../../src/log.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { askToDrain, isAskedToDrain } from '../../../src/observe/drain.js'
import { drainKey } from '../../../src/observe/note-keys.js'
import { watchForDrain } from '../../../src/run/workers/drain-watch.js'
import { forkWorker } from '../../../src/run/workers/fork-worker.js'
import type { RunningWorker } from '../../../src/run/workers/start-worker.js'
import { superviseWorker } from '../../../src/run/workers/supervise.js'
import { watchWorkers } from '../../../src/run/workers/worker-failures.js'
import { workerIds } from '../../../src/run/workers/worker-ids.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { tempDir } from '../../support/cli.js'
import { isAlive, notedSpider, orderOf } from './processes.js'

const SOON = { timeout: 15_000 }
const turn = () => new Promise((resolve) => setImmediate(resolve))

async function advance(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms)
  for (let turns = 0; turns < 5; turns++) await turn()
}

describe('word for a worker to leave', () => {
  it('is for one worker, and may be left twice', async () => {
    const notes = memoryNotes({ clock: new ManualClock() })
    await askToDrain(notes, 'w1')
    await askToDrain(notes, 'w1')
    expect(await isAskedToDrain(notes, 'w1')).toBe(true)
    expect(await isAskedToDrain(notes, 'w2')).toBe(false)
  })

  it('is found within seconds, told once, and a notes that is away is asked again', async () => {
    const clock = new ManualClock()
    const notes = memoryNotes({ clock })
    let away = true
    let reads = 0
    let asked = 0
    const flaky = {
      read: async (key: string) => {
        reads++
        if (away) throw new ShoalError('queue_down', 'gone')
        return notes.read(key)
      },
    }
    watchForDrain('w1', { notes: flaky, clock, log: silentLog }, () => asked++)
    await askToDrain(notes, 'w1')
    for (let looks = 0; looks < 3; looks++) await advance(clock, 2_000)
    expect({ asked, reads }).toEqual({ asked: 0, reads: 3 })
    away = false
    for (let looks = 0; looks < 5; looks++) await advance(clock, 2_000)
    expect({ asked, reads }).toEqual({ asked: 1, reads: 4 })
  })

  it('is not looked for any more when the worker is gone', async () => {
    const clock = new ManualClock()
    const notes = memoryNotes({ clock })
    let asked = 0
    const unwatch = watchForDrain('w1', { notes, clock, log: silentLog }, () => asked++)
    unwatch()
    await notes.post(drainKey('w1'), 'dashboard', 'now', 60_000)
    await advance(clock, 10_000)
    expect(asked).toBe(0)
  })
})

describe('a fleet of one process', () => {
  const worker = (drained: boolean, ended: Promise<void>): RunningWorker => ({ stop: async () => {}, ended, drained })

  it('has left when the last of its workers was drained', async () => {
    let leave = () => {}
    const last = new Promise<void>((resolve) => {
      leave = resolve
    })
    const watch = watchWorkers([worker(true, Promise.resolve()), worker(true, last)])
    await turn()
    expect(watch).toMatchObject({ alive: 1, drained: false })
    expect(watch.signal.aborted).toBe(false)
    leave()
    await turn()
    expect(watch).toMatchObject({ alive: 0, drained: true })
    expect(watch.signal.aborted).toBe(true)
    expect(() => watch.check()).not.toThrow()
  })

  it('fails when the last one ends that nobody asked to', async () => {
    const watch = watchWorkers([worker(true, Promise.resolve()), worker(false, Promise.resolve())])
    await turn()
    expect(watch.drained).toBe(false)
    expect(() => watch.check()).toThrow('nobody asked')
  })
})

describe('a worker that is asked to leave', () => {
  let dir: ReturnType<typeof tempDir>
  let backends: Backends

  beforeEach(async () => {
    dir = tempDir('drain')
    backends = await openBackends(orderOf(dir.path, '').settings)
  })

  afterEach(async () => {
    await backends.close()
    dir.remove()
  })

  const listed = async () => (await backends.frontier.workers()).map(({ worker }) => worker)

  it('leaves its thread, and its process, and is replaced in neither', async () => {
    const spider = notedSpider(dir.path)
    const parts = { backends, clock: systemClock, log: silentLog, writeLog: () => {}, newId: workerIds() }
    const thread = superviseWorker({ ...orderOf(dir.path, spider.path), ...parts })
    const child = forkWorker(orderOf(dir.path, spider.path), {
      frontier: backends.frontier,
      clock: systemClock,
      log: silentLog,
      writeLog: () => {},
    })
    await expect.poll(listed, SOON).toHaveLength(2)
    for (const worker of await listed()) await askToDrain(backends.notes, worker)
    await thread.ended
    await child.ended
    expect(thread.drained).toBe(true)
    expect(child.drained).toBe(true)
    expect(await listed()).toEqual([])
    expect(spider.pids()).toHaveLength(2)
    expect(spider.pids().filter((pid) => pid !== process.pid && isAlive(pid))).toEqual([])
  })
})
