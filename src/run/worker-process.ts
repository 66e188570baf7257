import { systemClock } from '../clock.js'
import { asShoalError } from '../errors.js'
import { createLog, type LogLevel } from '../log.js'
import { openPlant, type Plant, type PlantAddresses } from '../wire.js'
import type { SpiderSource } from './spider-source.js'
import { superviseWorker } from './supervise.js'
import { workerIds } from './worker-ids.js'

/** A worker process of `--workers N`. It ends with its parent, however that ends. */
export interface WorkerProcessOrder extends PlantAddresses {
  readonly source: SpiderSource
  readonly concurrency: number
  readonly logLevel: LogLevel
  readonly stuckMs: number
  readonly graceMs: number
}

export type FromWorkerProcess =
  | { readonly kind: 'worker'; readonly id: string }
  | {
      readonly kind: 'failed'
      readonly code: ReturnType<typeof asShoalError>['code']
      readonly message: string
      readonly hint: string
    }

async function main(order: WorkerProcessOrder): Promise<void> {
  // Ctrl-C goes to the whole group: the parent decides what it means.
  process.on('SIGINT', () => {})
  const writeLog = (line: string) => process.stderr.write(line)
  let plant: Plant | null = null
  try {
    plant = await openPlant(order)
    const worker = superviseWorker({
      ...order,
      plant,
      clock: systemClock,
      log: createLog(order.logLevel, systemClock, writeLog),
      writeLog,
      newId: workerIds(),
      onWorker: (id) => tell({ kind: 'worker', id }),
    })
    const stop = () => void worker.stop(order.graceMs)
    process.on('SIGTERM', stop)
    process.on('message', stop)
    process.on('disconnect', stop)
    await worker.ended
  } catch (thrown) {
    const { code, message, hint } = asShoalError(thrown)
    tell({ kind: 'failed', code, message, hint })
  }
  // Also after a failure: a database thread left open would keep this process, and its parent, waiting for ever.
  await plant?.close().catch(() => {})
  if (process.connected) process.disconnect()
}

function tell(message: FromWorkerProcess): void {
  if (process.connected) process.send?.(message)
}

await main(JSON.parse(process.argv[2] ?? '{}') as WorkerProcessOrder)
