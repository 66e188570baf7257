import { expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { createMonitor } from '../../../src/observe/metrics/monitor.js'
import { openBackends } from '../../../src/wire/backends.js'
import { redisForTest } from '../../support/redis-opened.js'

it('a process whose server has died is not ready', async () => {
  const server = await redisForTest()
  const backends = await openBackends({ queue: server.url, store: 'memory:' }, { clock: systemClock })
  try {
    const { readyReply } = createMonitor({ backends, clock: systemClock, fleet: true, queue: true, localWorkers: null })
    expect((await readyReply()).status).toBe(200)
    await server.stop()
    // An answer is good for a second.
    await systemClock.sleep(1_100)
    expect(await readyReply()).toMatchObject({ status: 503, body: { reasons: [{ code: 'queue_down' }] } })
  } finally {
    await backends.close()
  }
})
