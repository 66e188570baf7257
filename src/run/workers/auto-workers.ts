import type { Clock } from '../../clock.js'
import type { Log } from '../../log.js'
import { VITALS_MS, type Vitals } from '../../observe/vitals/vitals.js'
import type { LocalWorkers } from './local-workers.js'
import type { MachineCpu } from './machine-cpu.js'
import type { ProcessSample } from './process-count.js'
import type { ProcessRule } from './process-rules.js'
import type { RunningWorker } from './start-worker.js'

const SAMPLE_MS = 1_000
/** The first report of a worker is about loading its modules. */
const LOADED_MS = 500
/** Two reports are missing: the event loop is blocked, so it is as busy as it can be. */
const SILENT_MS = 2 * VITALS_MS

export interface AutoWorkersOptions {
  /** In this process, from the beginning. */
  readonly first: RunningWorker
  /** Starts another process. */
  readonly startProcess: () => RunningWorker
  readonly localWorkers: Pick<LocalWorkers, 'list'>
  readonly cpu: MachineCpu
  readonly rule: ProcessRule
  readonly clock: Clock
  readonly log: Log
  readonly graceMs: number
}

/** As many worker processes as its rule decides. To its owner it looks like one worker. */
export function autoWorkers(options: AutoWorkersOptions): RunningWorker {
  const { first, rule, cpu, clock, log } = options
  /** The newest last: it leaves first. */
  const others: RunningWorker[] = []
  const running = new Set<RunningWorker>()
  /** Somebody drains workers, or stops us: the number is theirs to decide. */
  let fixed = false
  let allDrained = true
  let cancel = () => {}
  let fail: (error: unknown) => void = () => {}
  let allEnded = () => {}
  const ended = new Promise<void>((resolve, reject) => {
    allEnded = resolve
    fail = reject
  })
  // Until someone awaits `ended`, its failure is no unhandled rejection.
  ended.catch(() => {})

  const failed = (error: unknown) => {
    cancel()
    fixed = true
    fail(error)
  }

  const follow = (worker: RunningWorker) => {
    running.add(worker)
    worker.ended.then(() => {
      running.delete(worker)
      const asked = others.indexOf(worker)
      // It was not stopped by us, so it was drained from outside.
      if (asked >= 0 || worker === first) {
        if (asked >= 0) others.splice(asked, 1)
        fixed = true
        cancel()
        allDrained &&= worker.drained === true
      }
      if (running.size === 0) allEnded()
    }, failed)
  }

  const add = (why: string) => {
    const worker = options.startProcess()
    others.push(worker)
    follow(worker)
    rule.changed(clock.mono())
    log.info('worker.added', { processes: others.length + 1, why })
  }

  const remove = (why: string) => {
    const worker = others.pop()
    if (worker === undefined) return
    rule.changed(clock.mono())
    log.info('worker.removed', { processes: others.length + 1, why })
    void worker.stop(options.graceMs)
  }

  const decide = async () => {
    const workers = options.localWorkers.list()
    const { change, why } = await rule.next({
      atMs: clock.mono(),
      ...{ processes: running.size, leaving: running.size - others.length - 1 },
      ...{ cores: cpu.cores, idleCores: cpu.idleCores(), ...loadOf(workers), pagesPerSecond: pagesPerSecond(workers) },
    })
    if (fixed) return
    if (change === 'fewer') remove(why)
    if (change === 'more') add(why)
  }

  const watch = () => {
    cancel = clock.after(SAMPLE_MS, () => {
      if (fixed) return
      decide().then(watch, (error: unknown) => {
        // The backends of a command that was stopped meanwhile are closed.
        if (!fixed) failed(error)
      })
    })
  }

  follow(first)
  watch()
  return {
    async stop(graceMs) {
      fixed = true
      cancel()
      await Promise.all([...running].map((worker) => worker.stop(graceMs)))
    },
    ended,
    get drained() {
      return running.size === 0 && allDrained
    },
    get alive() {
      return running.size
    },
  }
}

type Reports = ReturnType<LocalWorkers['list']>

function loadOf(workers: Reports): Pick<ProcessSample, 'loops' | 'rssBytes' | 'freeBytes'> {
  const loaded = workers.filter(({ vitals }) => vitals.at - vitals.startedAt >= LOADED_MS)
  return {
    loops: loaded.map(({ vitals, ageMs }) => (ageMs > SILENT_MS ? 1 : vitals.loopBusy)),
    rssBytes: Math.max(0, ...workers.map(({ vitals }) => vitals.rssBytes)),
    freeBytes: Math.min(Number.POSITIVE_INFINITY, ...workers.map(({ vitals }) => vitals.memoryFreeBytes)),
  }
}

function pagesPerSecond(workers: Reports): number {
  return workers.reduce((sum, { vitals }) => sum + rateOf(vitals), 0)
}

function rateOf({ at, pages, earlier }: Vitals): number {
  return earlier === null || at <= earlier.at ? 0 : ((pages - earlier.pages) * 1_000) / (at - earlier.at)
}
