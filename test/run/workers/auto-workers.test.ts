import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import { createLog } from '../../../src/log.js'
import { MISSED_MS, VITALS_MS, type Vitals } from '../../../src/observe/vitals/vitals.js'
import { autoWorkers } from '../../../src/run/workers/auto-workers.js'
import { createLocalWorkers } from '../../../src/run/workers/local-workers.js'
import { cpuRule } from '../../../src/run/workers/process-rules.js'
import type { RunningWorker } from '../../../src/run/workers/start-worker.js'

const CORES = 3

class FakeWorker implements RunningWorker {
  readonly ended: Promise<void>
  drained = false
  stoppedWith: number | null = null
  #end: () => void = () => {}
  #fail: (error: unknown) => void = () => {}

  constructor(
    readonly name: string,
    private readonly onEnd: (name: string) => void,
  ) {
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve
      this.#fail = reject
    })
    this.ended.catch(() => {})
  }

  async stop(graceMs: number): Promise<void> {
    this.stoppedWith = graceMs
    this.end()
  }

  drain(): void {
    this.drained = true
    this.end()
  }

  end(): void {
    this.onEnd(this.name)
    this.#end()
  }

  fail(error: unknown): void {
    this.onEnd(this.name)
    this.#fail(error)
  }
}

/** Processes that report how busy they are; `busy` and `queued` can be changed while they run. */
function setUp() {
  const clock = new ManualClock()
  const localWorkers = createLocalWorkers(clock)
  const lines: string[] = []
  const all: FakeWorker[] = []
  const load = { busy: 1, queued: 100_000, idleCores: 1.5, asked: 0, reports: true }
  const startedAt = new Map<string, number>()
  const start = () => {
    const worker = new FakeWorker(`w${all.length + 1}`, (name) => {
      startedAt.delete(name)
      localWorkers.gone(name)
    })
    all.push(worker)
    startedAt.set(worker.name, clock.now())
    return worker
  }
  const report = () => {
    const at = clock.now()
    for (const [worker, began] of startedAt) {
      const vitals: Partial<Vitals> = {
        ...{ worker, at, startedAt: began, loopBusy: load.busy, rssBytes: 100, memoryFreeBytes: 10_000 },
        ...{ pages: (at - began) / 50, earlier: { at: began, pages: 0 } as Vitals['earlier'] },
      }
      if (load.reports) localWorkers.received(vitals as Vitals)
    }
  }
  const workers = autoWorkers({
    ...{ first: start(), startProcess: start, localWorkers, clock, graceMs: 7_000 },
    cpu: { cores: CORES, idleCores: () => load.idleCores },
    rule: cpuRule(async () => {
      load.asked++
      return load.queued
    }),
    log: createLog('info', clock, (line) => lines.push(line)),
  })
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      if (second % (VITALS_MS / 1_000) === 0) report()
      clock.advance(1_000)
      // The decision asks the queue.
      for (let turn = 0; turn < 5; turn++) await Promise.resolve()
    }
  }
  const events = () => lines.map((line) => JSON.parse(line) as { event: string; processes: number })
  return { workers, all, load, pass, lines, events }
}

describe('workers as many as the work can use', () => {
  it('starts processes one by one while CPU is the bottleneck, and says why', async () => {
    const { workers, all, pass, events } = setUp()
    await pass(3)
    expect(all).toHaveLength(1)
    await pass(60)
    expect(workers.alive).toBe(CORES)
    expect(events()).toMatchObject([
      { event: 'worker.added', processes: 2, why: 'CPU is the bottleneck and a core is idle' },
      { event: 'worker.added', processes: 3 },
    ])
  })

  it('asks the queue only when it would start one, and starts none for what is nearly done', async () => {
    const { all, load, pass } = setUp()
    load.busy = 0.5
    await pass(30)
    expect(load.asked).toBe(0)
    load.busy = 1
    load.queued = 100
    await pass(30)
    expect(load.asked).toBeGreaterThan(0)
    expect(load.asked, 'not once a second').toBeLessThan(10)
    expect(all).toHaveLength(1)
  })

  it('stops the newest process with the full grace period when the others have room', async () => {
    const { workers, all, load, pass, events } = setUp()
    await pass(60)
    load.busy = 0.2
    await pass(120)
    expect(workers.alive).toBe(1)
    expect(all.map(({ stoppedWith }) => stoppedWith)).toEqual([null, 7_000, 7_000])
    expect(events().at(-1)).toMatchObject({ event: 'worker.removed', processes: 1 })
  })

  it('a process whose event loop is blocked is as busy as it can be', async () => {
    const { workers, load, pass } = setUp()
    load.busy = 0.5
    await pass(4)
    load.reports = false
    await pass(MISSED_MS / 1_000 + 5)
    expect(workers.alive).toBe(2)
  })

  it('leaves the number alone when somebody drains a process, and is drained when all are', async () => {
    const { workers, all, pass } = setUp()
    await pass(12)
    expect(workers.alive).toBe(2)
    all[1]?.drain()
    await pass(60)
    expect(workers.alive).toBe(1)
    expect(workers.drained).toBe(false)
    all[0]?.drain()
    await workers.ended
    expect(workers.drained).toBe(true)
  })

  it('stops all of them, and starts no more', async () => {
    const { workers, all, pass } = setUp()
    await pass(12)
    await workers.stop(500)
    await workers.ended
    expect(all.map(({ stoppedWith }) => stoppedWith)).toEqual([500, 500])
    await pass(60)
    expect(all).toHaveLength(2)
    expect(workers.drained).toBe(false)
  })

  it('fails with the first process that cannot work', async () => {
    const { workers, all, pass } = setUp()
    await pass(12)
    all[1]?.fail(new ShoalError('internal', 'no database'))
    await expect(workers.ended).rejects.toMatchObject({ message: 'no database' })
  })
})
