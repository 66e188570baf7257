import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { silentLog } from '../../../src/log.js'
import { forkWorker } from '../../../src/run/workers/fork-worker.js'
import { startWorkers } from '../../../src/run/workers/start-workers.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { tempDir } from '../../support/cli.js'
import { isAlive, notedSpider, orderOf } from './processes.js'

let dir: ReturnType<typeof tempDir>
let backends: Backends

beforeEach(async () => {
  dir = tempDir('start-workers')
  backends = await openBackends(orderOf(dir.path, '').settings)
})

afterEach(async () => {
  await backends.close()
  dir.remove()
})

it('starts the other processes when the first one is ready', async () => {
  const spider = notedSpider(dir.path, 'await new Promise((resolve) => setTimeout(resolve, 1500))')
  const { settings, sources } = orderOf(dir.path, spider.path)
  const order = { settings, sources, workers: 3 }
  const workers = await startWorkers(order, backends, [], new Map(), silentLog, () => {})
  expect(workers).toHaveLength(3)
  await expect.poll(() => spider.pids().length, { timeout: 40_000 }).toBe(3)
  const [first = 0, ...others] = spider.pids()
  expect(new Set([process.pid, first, ...others]).size).toBe(4)
  // In Linux a process that was forked later has a later start time.
  const startedAt = (pid: number) => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[21])
  const TICKS = 100
  for (const other of others) expect(startedAt(other) - startedAt(first)).toBeGreaterThan(1.5 * TICKS)
  await Promise.all(workers.map((worker) => worker.stop(500)))
  expect(spider.pids().filter(isAlive)).toEqual([])
}, 60_000)

it('stops a process that has not been started without waiting for its turn', async () => {
  const spider = notedSpider(dir.path)
  const never = new Promise(() => {})
  const parts = { frontier: backends.frontier, clock: systemClock, log: silentLog, writeLog: () => {} }
  const worker = forkWorker({ ...orderOf(dir.path, spider.path), stuckMs: 10_000 }, { ...parts, startAfter: never })
  await worker.stop(500)
  await worker.ended
  expect(spider.pids()).toEqual([])
})

it('with auto, starts with one worker in this process', async () => {
  const spider = notedSpider(dir.path)
  const { settings, sources } = orderOf(dir.path, spider.path)
  const order = { settings, sources, workers: 'auto' as const }
  const [worker, ...others] = await startWorkers(order, backends, [], new Map(), silentLog, () => {})
  await expect.poll(() => spider.pids(), { timeout: 40_000 }).toEqual([process.pid])
  expect(others).toEqual([])
  expect(worker).toMatchObject({ alive: 1, drained: false })
  await worker?.stop(500)
  await worker?.ended
  expect(worker?.alive).toBe(0)
}, 60_000)
