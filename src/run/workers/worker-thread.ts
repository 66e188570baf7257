import { parentPort, workerData } from 'node:worker_threads'
import { systemClock, systemRandom } from '../../clock.js'
import { spiderError } from '../../error-place.js'
import { asShoalError } from '../../errors.js'
import { createLog } from '../../log.js'
import { namedText } from '../../thrown.js'
import { BackendWatch } from '../../while-away.js'
import { backendsFromPorts } from '../../wire/backends.js'
import { LineLimit } from '../../worker/line-limit.js'
import { withoutOpenedSecrets } from '../../worker/secrets.js'
import { StrayErrors } from '../../worker/stray-errors.js'
import { openTracing } from '../open-tracing.js'
import { logOutput } from '../output/log-output.js'
import { poolsAtHand } from '../pools-at-hand.js'
import { refuseToEnd } from '../refuse-to-end.js'
import { spiderFrom } from '../spider-source.js'
import { startWorker } from './start-worker.js'
import { BEAT_MS, type FromWorkerThread, type ToWorkerThread, type WorkerThreadData } from './worker-thread-messages.js'

async function main(data: WorkerThreadData): Promise<void> {
  const { settings } = data
  const endThread = refuseToEnd()
  const beat = new Int32Array(data.beat)
  // Before the spider file is loaded, which may block.
  Atomics.add(beat, 0, 1)
  const beating = setInterval(() => Atomics.add(beat, 0, 1), BEAT_MS)
  const log = createLog(settings.logLevel, systemClock, (line) => send({ kind: 'log', line }))
  const lines = new LineLimit({ clock: systemClock, log })
  const output = logOutput({ clock: systemClock, log, lines })
  const strays = data.findsStrays ? new StrayErrors({ clock: systemClock, log }) : null
  // Reported here and not by Node, which would send the thrown value itself: null, or something that cannot be sent.
  process.on('uncaughtException', (thrown: unknown) => {
    if (strays?.caught(thrown)) return
    output.end()
    const { message } = spiderError('handler_error', thrown, `uncaught exception: ${namedText(thrown)}`)
    send({ kind: 'uncaught', message: withoutOpenedSecrets(message) })
    endThread(1)
  })
  try {
    // The main thread has loaded the same files and shown what they print.
    const spiders = await output.dropped(() => Promise.all(data.sources.map(spiderFrom)))
    // A queue that is down when this thread starts is waited for, like one that goes down later.
    const watch = new BackendWatch(log, systemClock)
    const backends = await watch.wait(
      'queue',
      () => backendsFromPorts(data.ports),
      (ms) => systemClock.sleep(ms),
    )
    const tracing = await openTracing(settings.traces, log)
    const running = startWorker({
      id: data.id,
      backends,
      spiders,
      pools: poolsAtHand(settings, spiders),
      concurrency: settings.concurrency,
      browser: settings.browser,
      browserPages: settings.browserPages,
      cache: settings.cache,
      lostAfterMs: settings.lostAfterMs,
      clock: systemClock,
      random: systemRandom,
      log,
      tracing,
      strays,
      lines,
      onVitals: (vitals) => send({ kind: 'vitals', vitals }),
    })
    // Before that it is not stopped but terminated.
    parentPort?.on('message', ({ graceMs }: ToWorkerThread) => void running.stop(graceMs))
    send({ kind: 'ready' })
    await running.ended
    await backends.close()
    output.end()
    send({ kind: 'stopped' })
  } catch (thrown) {
    const { code, message, hint } = asShoalError(thrown)
    send({ kind: 'failed', code, message, hint })
  }
  clearInterval(beating)
  parentPort?.close()
}

function send(message: FromWorkerThread): void {
  parentPort?.postMessage(message)
}

await main(workerData as WorkerThreadData)
