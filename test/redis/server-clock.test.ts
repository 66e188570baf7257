import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.js'
import { workerSnapshots } from '../../src/observe/snapshots/snapshot.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const MINUTES = 60_000
let server: RedisServer
let backends: Backends
/** A machine whose clock is five minutes fast, and has a step of its own. */
let stepMs = 0
const fast: Clock = { ...systemClock, now: () => systemClock.now() + 5 * MINUTES + stepMs }

beforeAll(async () => {
  server = await startRedis()
  backends = await openBackends({ queue: server.url, store: 'memory:' }, { clock: fast })
})
afterAll(async () => {
  await backends?.close()
  await server?.stop()
})

it('is the time of the queue on a machine whose clock is wrong, and stays so when that steps', () => {
  expect(Math.abs(backends.queueClock.now() - systemClock.now())).toBeLessThan(MINUTES)
  stepMs = -60 * MINUTES
  expect(Math.abs(backends.queueClock.now() - systemClock.now())).toBeLessThan(MINUTES)
})

it('lets nobody miss a worker that was here a moment ago', async () => {
  await backends.frontier.lease({ worker: 'w', seq: 1, want: 1, spiders: ['shop'] })
  const [worker] = await workerSnapshots(backends, backends.queueClock.now())
  expect(worker?.state).toBe('idle')
})
