import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Clock } from '../../clock.js'
import { entryFile } from '../../entry-file.js'
import { ShoalError } from '../../errors.js'
import type { Frontier, WorkerId } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import { version } from '../../version.js'
import { forfeit } from './forfeit.js'
import type { LocalWorkers } from './local-workers.js'
import { restartPause } from './restart-pause.js'
import type { RunningWorker } from './start-worker.js'
import { type FromWorkerProcess, WORKER_ORDER, type WorkerProcessOrder } from './worker-process-messages.js'

/** How long a child that reported a failure may take to close its database. */
const LINGER_MS = 3_000
/** Added to the grace period before a child is killed: one that is frozen never receives the stop. */
const STOP_SLACK_MS = 8_000

/** A command that ends at once, at the second signal, takes its processes with it; others take over. */
const children = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

interface ProcessEnd {
  readonly worker: WorkerId | null
  readonly failure: ShoalError | null
  readonly code: number | null
  readonly signal: string | null
}

interface ForkedWorker extends RunningWorker {
  /** Resolves when it asks for its first pages. */
  readonly ready: Promise<void>
}

/** A worker process that is restarted, with growing pauses, when it ends without being asked; what it held returns to the queue at once. */
export function forkWorker(
  order: WorkerProcessOrder,
  parts: {
    readonly frontier: Frontier
    readonly clock: Clock
    readonly log: Log
    /** Receives the log lines of the process. */
    readonly writeLog: (line: string) => void
    readonly localWorkers?: LocalWorkers
    readonly startAfter?: Promise<unknown>
  },
): ForkedWorker {
  const { frontier, clock, log } = parts
  let current: ChildProcess | null = null
  /** The child has a worker, which may hold leases. */
  let hasWorker = false
  let drained = false
  const stopping = new AbortController()
  const stopped = once(stopping.signal, 'abort')
  let isReady = () => {}
  const ready = new Promise<void>((resolve) => {
    isReady = resolve
  })

  const ended = (async () => {
    // A command that is stopped in its first seconds does not wait for a process that it will not start.
    await Promise.race([parts.startAfter, stopped])
    if (stopping.signal.aborted) return
    for (let pauseMs = 0; ; ) {
      const startedAt = clock.mono()
      const { worker, failure, signal, code } = await runProcess()
      if (worker !== null) parts.localWorkers?.gone(worker)
      if (failure !== null) throw failure
      if (stopping.signal.aborted && worker === null) return
      if (code === 0 && (stopping.signal.aborted || drained)) return
      const cause = endedBy(signal, code)
      const reclaimed = worker === null ? 0 : await forfeit(frontier, worker, clock, stopping.signal, cause)
      log.error('worker.died', { worker, signal, code, reclaimed })
      pauseMs = restartPause(pauseMs, clock.mono() - startedAt)
      await clock.sleep(pauseMs, stopping.signal)
      if (stopping.signal.aborted) return
    }
  })()
  ended.catch(() => {})

  function runProcess(): Promise<ProcessEnd> {
    const child = fork(entryFile(import.meta.url, './worker-process.js'), [], {
      execArgv: [],
      env: { ...process.env, [WORKER_ORDER]: JSON.stringify({ ...order, version } satisfies WorkerProcessOrder) },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    current = child
    hasWorker = false
    children.add(child)
    let worker: WorkerId | null = null
    let failure: ShoalError | null = null
    let spareChild = () => {}
    child.on('message', (message: FromWorkerProcess) => {
      if (message.kind === 'worker') {
        if (worker !== null) parts.localWorkers?.gone(worker)
        worker = message.id
        hasWorker = true
      } else if (message.kind === 'log') parts.writeLog(message.line)
      else if (message.kind === 'ready') isReady()
      else if (message.kind === 'drained') drained = true
      else if (message.kind === 'vitals') parts.localWorkers?.received(message.vitals)
      // Any other kind comes from a newer version, whose files have replaced those of this process.
      else if (message.kind === 'failed') {
        failure = new ShoalError(message.code, message.message, { hint: message.hint })
        spareChild = clock.after(LINGER_MS, () => child.kill('SIGKILL'))
      }
    })
    return new Promise((resolve) => {
      const end = (code: number | null, signal: string | null) => {
        current = null
        children.delete(child)
        spareChild()
        resolve({ worker, failure, code, signal })
      }
      child.once('exit', end)
      // Also emitted when a stop cannot be sent because the child has just ended: then its 'exit' event follows. Only a child that never started has none.
      child.on('error', () => {
        if (child.pid === undefined) end(null, null)
      })
    })
  }

  return {
    async stop(graceMs) {
      stopping.abort()
      const child = current
      // One that is still loading its modules would read the message seconds later, and has nothing to give back.
      if (!hasWorker) child?.kill('SIGKILL')
      else if (child?.connected) child.send({ kind: 'stop' })
      const spareChild = clock.after(graceMs + STOP_SLACK_MS, () => child?.kill('SIGKILL'))
      await ended.catch(() => {})
      spareChild()
    },
    ready,
    ended,
    get drained() {
      return drained
    },
  }
}

/** What a dead letter says about the end of the process that visited it. */
function endedBy(signal: string | null, code: number | null): string {
  if (signal === null) return `the worker process ended with code ${code}`
  return `the worker process was ended by ${signal}${signal === 'SIGKILL' ? ', as when the system runs out of memory' : ''}`
}
