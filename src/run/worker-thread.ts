import { parentPort, workerData } from 'node:worker_threads'
import { systemClock, systemRandom } from '../clock.js'
import { asShoalError } from '../errors.js'
import { createLog, type LogLevel } from '../log.js'
import { type PlantPorts, plantFromPorts } from '../wire.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import { startWorker } from './start-worker.js'

/** A worker in a thread of its own: the thread can be ended from outside even while a handler runs in circles. */
export interface WorkerThreadData {
  readonly id: string
  readonly source: SpiderSource
  readonly concurrency: number
  readonly logLevel: LogLevel
  readonly ports: PlantPorts
  /** Counted up while the event loop turns. */
  readonly beat: SharedArrayBuffer
}

export type ToWorkerThread = { readonly kind: 'stop'; readonly graceMs: number }
export type FromWorkerThread =
  | { readonly kind: 'log'; readonly line: string }
  | { readonly kind: 'stopped' }
  | {
      readonly kind: 'failed'
      readonly code: ReturnType<typeof asShoalError>['code']
      readonly message: string
      readonly hint: string
    }

export const BEAT_MS = 200

async function main(data: WorkerThreadData): Promise<void> {
  const beat = new Int32Array(data.beat)
  const beating = setInterval(() => Atomics.add(beat, 0, 1), BEAT_MS)
  const log = createLog(data.logLevel, systemClock, (line) => tell({ kind: 'log', line }))
  try {
    const spider = await spiderFrom(data.source)
    const plant = plantFromPorts(data.ports)
    const worker = startWorker({
      id: data.id,
      plant,
      spider,
      concurrency: data.concurrency,
      clock: systemClock,
      random: systemRandom,
      log,
    })
    parentPort?.on('message', (message: ToWorkerThread) => void worker.stop(message.graceMs))
    await worker.ended
    await plant.close()
    tell({ kind: 'stopped' })
  } catch (thrown) {
    const { code, message, hint } = asShoalError(thrown)
    tell({ kind: 'failed', code, message, hint })
  }
  clearInterval(beating)
  parentPort?.close()
}

function tell(message: FromWorkerThread): void {
  parentPort?.postMessage(message)
}

await main(workerData as WorkerThreadData)
