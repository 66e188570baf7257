import type { Clock } from '../../clock.js'
import { isAway } from '../../errors.js'
import type { Frontier } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import { VITALS_MS, type Vitals } from '../../observe/vitals/vitals.js'
import type { LocalWorkers } from './local-workers.js'
import type { MachineCpu } from './machine-cpu.js'
import {
  isWorthAProcess,
  NO_CHANGE_YET,
  type ProcessCountState,
  type ProcessSample,
  processChange,
  processesChanged,
} from './process-count.js'
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
  /** How many links of our crawls are waiting. Asked only when a process would be added. */
  readonly queued: () => Promise<number>
  readonly clock: Clock
  readonly log: Log
  readonly graceMs: number
}

/** As many worker processes as the work can use, decided by `processChange`. To its owner it looks like one worker. */
export function autoWorkers(options: AutoWorkersOptions): RunningWorker {
  const { first, cpu, clock, log } = options
  /** The newest last: it leaves first. */
  const others: RunningWorker[] = []
  const running = new Set<RunningWorker>()
  let state: ProcessCountState = NO_CHANGE_YET
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

  const add = () => {
    const worker = options.startProcess()
    others.push(worker)
    follow(worker)
    state = processesChanged(clock.mono())
    log.info('worker.added', { processes: others.length + 1, why: 'CPU is the bottleneck and a core is idle' })
  }

  const remove = () => {
    const worker = others.pop()
    if (worker === undefined) return
    state = processesChanged(clock.mono())
    log.info('worker.removed', { processes: others.length + 1, why: 'the other processes have room for its work' })
    void worker.stop(options.graceMs)
  }

  const decide = async () => {
    const workers = options.localWorkers.list()
    const decided = processChange(state, {
      atMs: clock.mono(),
      processes: running.size,
      ...{ cores: cpu.cores, idleCores: cpu.idleCores(), ...loadOf(workers) },
    })
    state = decided.state
    if (decided.change === 'fewer') remove()
    if (decided.change !== 'more') return
    if (isWorthAProcess(await waiting(options.queued), pagesPerSecond(workers)) && !fixed) add()
    // Asked again when the loops have been full for as long once more.
    else state = { ...state, fullSince: null }
  }

  const watch = () => {
    cancel = clock.after(SAMPLE_MS, () => {
      if (fixed) return
      decide().then(watch, failed)
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

/** A queue that is down has nothing for another process. */
async function waiting(queued: () => Promise<number>): Promise<number> {
  try {
    return await queued()
  } catch (error) {
    if (isAway(error)) return 0
    throw error
  }
}

/** Links that wait in the running crawls of these spiders. */
export async function queuedOf(frontier: Pick<Frontier, 'crawls' | 'stats'>, spiders: ReadonlySet<string>) {
  const ours = (await frontier.crawls()).filter(({ spider, state }) => state === 'running' && spiders.has(spider))
  const all = await Promise.all(ours.map(({ id }) => frontier.stats(id)))
  return all.reduce((sum, { queued }) => sum + queued, 0)
}
