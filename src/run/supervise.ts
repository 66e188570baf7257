import { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.js'
import { entryFile } from '../entry-file.js'
import { ShoalError } from '../errors.js'
import type { WorkerId } from '../frontier/frontier.js'
import type { Log, LogLevel } from '../log.js'
import type { Plant } from '../wire.js'
import type { SpiderSource } from './spider-source.js'
import type { RunningWorker } from './start-worker.js'
import { BEAT_MS, type FromWorkerThread, type ToWorkerThread, type WorkerThreadData } from './worker-thread-messages.js'

const RESTART_MS = 500
const RESTART_CAP_MS = 30_000
/** A worker that ran this long before it died is restarted as if it were the first time. */
const HEALTHY_MS = 60_000

export interface SuperviseOptions {
  readonly plant: Plant
  readonly source: SpiderSource
  readonly concurrency: number
  readonly logLevel: LogLevel
  readonly log: Log
  readonly clock: Clock
  /** The event loop of a worker may stand still for this long: a handler past its deadline, and some more. */
  readonly stuckMs: number
  readonly writeLog: (line: string) => void
  readonly newId: () => WorkerId
  /** Told of each worker that begins: whoever watches the process forfeits the leases of the last one if it dies. */
  readonly onWorker?: (id: WorkerId) => void
}

/**
 * A worker in a thread, watched: one that hangs in a handler is ended, one that dies is replaced, and the leases of either go
 * back to the queue at once, where a link that does this again and again is leased alone and then given up.
 */
export function superviseWorker(options: SuperviseOptions): RunningWorker {
  const { clock, log, plant } = options
  let current: Worker | null = null
  let stopping: number | null = null
  let restartMs = RESTART_MS

  const ended = (async () => {
    for (;;) {
      const id = options.newId()
      options.onWorker?.(id)
      const startedAt = clock.mono()
      const end = await runThread(id)
      if (end.kind === 'stopped') return
      if (end.kind === 'failed') throw new ShoalError(end.code, end.message, { hint: end.hint })
      const reclaimed = await plant.frontier.forfeit(id)
      log.error(end.kind === 'stuck' ? 'worker.stuck' : 'worker.died', { worker: id, message: end.message, reclaimed })
      if (stopping !== null) return
      if (clock.mono() - startedAt > HEALTHY_MS) restartMs = RESTART_MS
      await clock.sleep(restartMs)
      restartMs = Math.min(RESTART_CAP_MS, restartMs * 2)
      if (stopping !== null) return
    }
  })()
  // Whoever awaits `ended` hears of it; until somebody does, it is no unhandled rejection.
  ended.catch(() => {})

  type End = Extract<FromWorkerThread, { kind: 'stopped' | 'failed' }> | { kind: 'stuck' | 'died'; message: string }

  function runThread(id: WorkerId): Promise<End> {
    const ports = plant.connect()
    if (ports === null) throw new ShoalError('internal', 'this plant cannot be shared with a thread')
    const beat = new SharedArrayBuffer(4)
    const data: WorkerThreadData = {
      id,
      source: options.source,
      concurrency: options.concurrency,
      logLevel: options.logLevel,
      ports,
      beat,
    }
    const thread = new Worker(entryFile(import.meta.url, './worker-thread.js'), {
      workerData: data,
      transferList: ports.store === null ? [ports.queue] : [ports.queue, ports.store],
    })
    current = thread
    return new Promise((resolve) => {
      const watching = watch(new Int32Array(beat), () => {
        finish({
          kind: 'stuck',
          message: `its event loop stood still for ${options.stuckMs} ms: a handler that never ends?`,
        })
        void thread.terminate()
      })
      const finish = (end: End) => {
        clearInterval(watching)
        current = null
        resolve(end)
      }
      thread.on('message', (message: FromWorkerThread) => {
        if (message.kind === 'log') options.writeLog(message.line)
        else finish(message)
      })
      thread.on('error', (error: Error) => finish({ kind: 'died', message: error.message }))
      thread.on('exit', (code) => finish({ kind: 'died', message: `the thread ended with code ${code}` }))
      if (stopping !== null) tell(thread, { kind: 'stop', graceMs: stopping })
    })
  }

  function watch(beat: Int32Array, stuck: () => void): NodeJS.Timeout {
    let seen = -1
    let seenAt = clock.mono()
    return setInterval(() => {
      const now = Atomics.load(beat, 0)
      if (now !== seen) {
        seen = now
        seenAt = clock.mono()
      } else if (clock.mono() - seenAt > options.stuckMs) stuck()
    }, BEAT_MS)
  }

  return {
    async stop(graceMs) {
      stopping = graceMs
      if (current !== null) tell(current, { kind: 'stop', graceMs })
      await ended.catch(() => {})
    },
    ended,
  }
}

function tell(thread: Worker, message: ToWorkerThread): void {
  thread.postMessage(message)
}
