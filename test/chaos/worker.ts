import { fileURLToPath } from 'node:url'
import type { Clock } from '../../src/clock.js'
import type { BackendAddresses, Backends } from '../../src/wire/backends.js'
import { monotonic, openRecorder } from './history.js'
import { recordingFrontier, recordingStore } from './recording-frontier.js'

/**
 * A worker process of the chaos runs: the product's own worker, built from src/run with a backends that is recorded. The product
 * itself has no hooks for tests. It loads the build, as users do.
 */
export interface ChaosWorkerOrder extends BackendAddresses {
  readonly id: string
  readonly spider: string
  readonly concurrency: number
  readonly dir: string
  /** How long it may be silent; that of the product when left out. */
  readonly lostAfterMs?: number
  /** Dies by SIGKILL before this many-th call. */
  readonly dieBefore?: { readonly op: 'settle' | 'write'; readonly call: number }
  /** Stops itself (SIGSTOP) before its first call, until somebody lets it go on. */
  readonly freezeBefore?: 'settle' | 'write'
  /** Its store of records is that of the sources, where a mutant may be, and not that of the build. */
  readonly storeOfSources?: boolean
  /** The wall clock is off by so much, in turns, a new one every second. */
  readonly clockOffsetsMs?: readonly number[]
  /** Redis's clock, as the scripts see it, jumps by these in turns. */
  readonly serverJumps?: { readonly everyMs: number; readonly jumpsMs: readonly number[] }
}

const order = JSON.parse(process.argv[2] ?? '{}') as ChaosWorkerOrder
const GRACE_MS = 5_000

const built = (file: string) => import(fileURLToPath(new URL(`../../dist/${file}`, import.meta.url)))
const { systemClock, systemRandom } = (await built('clock.js')) as typeof import('../../src/clock.js')
const { openBackends } = (await built('wire/backends.js')) as typeof import('../../src/wire/backends.js')
const { loadSpider } = (await built('spider/load.js')) as typeof import('../../src/spider/load.js')
const { startWorker } = (await built(
  'run/workers/start-worker.js',
)) as typeof import('../../src/run/workers/start-worker.js')
const { createLog } = (await built('log.js')) as typeof import('../../src/log.js')

const stop = new AbortController()
process.on('SIGTERM', () => stop.abort())
process.on('disconnect', () => process.exit(1))
process.on('SIGINT', () => {})

const recorder = openRecorder(order.dir, order.id)
let calls = 0
let frozen = false
const failpoint = (op: 'settle' | 'write') => {
  if (order.freezeBefore === op && !frozen) {
    frozen = true
    process.kill(process.pid, 'SIGSTOP')
  }
  if (order.dieBefore?.op === op && ++calls >= order.dieBefore.call) process.kill(process.pid, 'SIGKILL')
}

function skewed(offsets: readonly number[]): Clock {
  const startedAt = systemClock.mono()
  const offset = () => offsets[Math.floor((systemClock.mono() - startedAt) / 1000) % offsets.length] ?? 0
  return { ...systemClock, now: () => systemClock.now() + offset() }
}

/** All processes jump together: they read the same monotonic clock. Leases are renewed here, where the jumps are known. */
async function withJumps(
  around: Backends,
  { everyMs, jumpsMs }: NonNullable<ChaosWorkerOrder['serverJumps']>,
): Promise<Backends> {
  const { openRedis } = (await built('redis/connection.js')) as typeof import('../../src/redis/connection.js')
  const { openRedisFrontier } = (await built(
    'frontier/redis/redis-frontier.js',
  )) as typeof import('../../src/frontier/redis/redis-frontier.js')
  const jumpMs = () => jumpsMs[Math.floor(monotonic() / everyMs) % jumpsMs.length] ?? 0
  const frontier = await openRedisFrontier(await openRedis(order.queue), { jumpMs })
  return { ...around, frontier, keep: null }
}

const STALL_LOOK_MS = 250
const STALL_MS = 1_000
let looked = monotonic()
setInterval(() => {
  // This process was not given the time to renew anything.
  if (monotonic() - looked > STALL_MS) recorder.record([{ op: 'stall', phase: 'info', id: '', epoch: '', host: '' }])
  looked = monotonic()
}, STALL_LOOK_MS).unref()

/** Leases that the keeper finds lost are part of the history. */
function recordedKeep(keep: NonNullable<Backends['keep']>): NonNullable<Backends['keep']> {
  return ({ onLost, ...keeper }) =>
    keep({
      ...keeper,
      onLost(tokens) {
        recorder.record(tokens.map((epoch) => ({ op: 'lost', phase: 'info', id: '', epoch, host: '' })))
        onLost(tokens)
      },
    })
}

const clock = order.clockOffsetsMs === undefined ? systemClock : skewed(order.clockOffsetsMs)
const spider = await loadSpider(order.spider)
const opened = await openBackends(order, { clock })
const backends = order.serverJumps === undefined ? opened : await withJumps(opened, order.serverJumps)
let { store } = backends
if (order.storeOfSources === true) {
  const { openPostgresStore } = await import('../../src/store/postgres/open-postgres.js')
  store = await openPostgresStore(order.store, { clock, create: false })
}
const recorded = {
  ...backends,
  frontier: recordingFrontier(backends.frontier, recorder, failpoint),
  store: recordingStore(store, recorder, failpoint),
}
const log = createLog('info', clock, (line) => process.stderr.write(line))
const worker = startWorker({
  id: order.id,
  backends: { ...recorded, keep: backends.keep === null ? null : recordedKeep(backends.keep) },
  spiders: [spider],
  concurrency: order.concurrency,
  ...(order.lostAfterMs !== undefined && { lostAfterMs: order.lostAfterMs }),
  clock,
  random: systemRandom,
  log,
})
process.send?.('ready')
stop.signal.addEventListener('abort', () => void worker.stop(GRACE_MS))
if (stop.signal.aborted) void worker.stop(GRACE_MS)
let failed = false
await worker.ended.catch((error: unknown) => {
  failed = true
  console.error(`worker ${order.id} ended: ${error instanceof Error ? error.stack : String(error)}`)
})
recorder.record([{ op: 'exit', phase: failed ? 'fail' : 'ok', id: '', epoch: '', host: '' }])
await backends.close().catch(() => {})
process.exit(failed ? 3 : 0)
