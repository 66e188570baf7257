import { type ChildProcess, fork } from 'node:child_process'
import type { Clock } from '../clock.js'
import { entryFile } from '../entry-file.js'
import { ShoalError } from '../errors.js'
import type { Frontier, WorkerId } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import type { RunningWorker } from './start-worker.js'
import type { FromWorkerProcess, WorkerProcessOrder } from './worker-process.js'

const RESTART_MS = 500
const RESTART_CAP_MS = 30_000

/** A worker process, restarted with a growing pause when it dies; what it held goes back to the queue at once. */
export function forkWorker(
  order: WorkerProcessOrder,
  parts: { frontier: Frontier; clock: Clock; log: Log },
): RunningWorker {
  const { frontier, clock, log } = parts
  let current: ChildProcess | null = null
  let stopping = false

  const ended = (async () => {
    for (let restartMs = RESTART_MS; ; restartMs = Math.min(RESTART_CAP_MS, restartMs * 2)) {
      const { worker, failure, signal, code } = await runProcess()
      if (failure !== null) throw failure
      if (code === 0) return
      const reclaimed = worker === null ? 0 : await frontier.forfeit(worker)
      log.error('worker.died', { worker, signal, code, reclaimed })
      if (stopping) return
      await clock.sleep(restartMs)
      if (stopping) return
    }
  })()
  ended.catch(() => {})

  function runProcess(): Promise<{
    worker: WorkerId | null
    failure: ShoalError | null
    code: number | null
    signal: string | null
  }> {
    const child = fork(entryFile(import.meta.url, './worker-process.js'), [JSON.stringify(order)], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    current = child
    let worker: WorkerId | null = null
    let failure: ShoalError | null = null
    child.on('message', (message: FromWorkerProcess) => {
      if (message.kind === 'worker') worker = message.id
      else failure = new ShoalError(message.code, message.message, { hint: message.hint })
    })
    return new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        current = null
        resolve({ worker, failure, code, signal })
      })
    })
  }

  return {
    async stop() {
      stopping = true
      if (current?.connected) current.send({ kind: 'stop' })
      await ended.catch(() => {})
    },
    ended,
  }
}
