import { systemClock } from '../../clock.js'
import { asShoalError, isAway } from '../../errors.js'
import { createLog, type Log } from '../../log.js'
import { version } from '../../version.js'
import { BackendWatch, pauseUntil } from '../../while-away.js'
import { type Backends, openBackends } from '../../wire/backends.js'
import { superviseWorker } from './supervise.js'
import { workerIds } from './worker-ids.js'
import { type FromWorkerProcess, WORKER_ORDER, type WorkerProcessOrder } from './worker-process-messages.js'

async function main(order: WorkerProcessOrder): Promise<void> {
  // Before anything that takes time, so that no message is missed. Ctrl-C goes to the whole process group: the parent decides what it means.
  process.on('SIGINT', () => {})
  const stop = new AbortController()
  const onStop = () => stop.abort()
  process.on('SIGTERM', onStop)
  process.on('message', onStop)
  process.on('disconnect', onStop)
  // The parent may have ended before these listeners existed.
  if (!process.connected) onStop()

  let backends: Backends | null = null
  try {
    const log = createLog(order.settings.logLevel, systemClock, writeLog)
    sayOtherVersion(order, log)
    const watch = new BackendWatch(log, systemClock)
    backends = await watch.wait('queue', () => openBackends(order.settings), pauseUntil(stop.signal, systemClock))
    if (!stop.signal.aborted) await work(order, backends, log, stop.signal)
  } catch (thrown) {
    if (isAway(thrown) && stop.signal.aborted) return
    const { code, message, hint } = asShoalError(thrown)
    await send({ kind: 'failed', code, message, hint })
  } finally {
    await backends?.close().catch(() => {})
  }
}

/** The files were replaced under a running command, which starts processes of the new version from then on. */
function sayOtherVersion(order: WorkerProcessOrder, log: Log): void {
  if (order.version === version) return
  const why = 'the files of Shoal were replaced while the command was running: restart the command'
  log.warn('worker.version', { version, commandVersion: order.version ?? 'unknown', why })
}

/** The last line is on its way. */
let logged = Promise.resolve()

/** Through the parent, which may show its progress on the terminal. One that is gone shows nothing any more. */
function writeLog(line: string): void {
  if (process.connected) logged = send({ kind: 'log', line })
  else process.stderr.write(line)
}

async function work(order: WorkerProcessOrder, backends: Backends, log: Log, stop: AbortSignal): Promise<void> {
  const worker = superviseWorker({
    ...order,
    backends,
    clock: systemClock,
    log,
    writeLog,
    newId: workerIds(),
    onWorker: (id) => void send({ kind: 'worker', id }),
    onReady: () => void send({ kind: 'ready' }),
    onVitals: (vitals) => void send({ kind: 'vitals', vitals }),
  })
  stop.addEventListener('abort', () => void worker.stop(order.settings.graceMs))
  await worker.ended
  if (worker.drained) await send({ kind: 'drained' })
}

/** Resolves when the message has been sent, or cannot be. */
function send(message: FromWorkerProcess): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected || process.send === undefined) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })
}

const { [WORKER_ORDER]: order = '{}' } = process.env
// A process that the spider starts must not become a worker.
delete process.env[WORKER_ORDER]
await main(JSON.parse(order) as WorkerProcessOrder)
await logged
// A timer that the spider left running must not keep this process and its parent waiting.
process.exit()
