import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { seededRandom, systemClock } from '../../../src/clock.js'
import { readAlerts } from '../../../src/observe/alerts/alert-notes.js'
import { readSeries } from '../../../src/observe/series/series-notes.js'
import { NO_CHANNELS } from '../../../src/run/alerts/load-alerts.js'
import { startWatchDuty } from '../../../src/run/alerts/watch-duty.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { done, specOf } from '../../contract/frontier-fixtures.js'
import { openForTest, redisForTest } from '../../support/redis-opened.js'
import { removeDirectory, temporaryDirectory, until } from '../../support/redis-server.js'
import { logInto, only, pagesOf, workerOn } from './watched.js'

/** The watcher of a real backends, by the real clock, until `enough`; what its log said. */
async function watchUntil(backends: Backends, enough: () => Promise<boolean>, alerts = NO_CHANNELS): Promise<string[]> {
  const told: string[] = []
  const end = new AbortController()
  const parts = { alerts, clock: systemClock, random: seededRandom(1), log: logInto(told), signal: end.signal }
  const duties = startWatchDuty(backends, parts)
  await until('the watcher', enough)
  end.abort()
  await duties
  return told
}

/** Some pages are fetched between the first look and the last one. */
async function crawlOn(backends: Backends): Promise<void> {
  await backends.frontier.open(specOf({ id: 'crawl' }))
  await backends.frontier.add('crawl', pagesOf('a.test', 0, 20))
  const told = await watchUntil(backends, async () => {
    if ((await readSeries(backends.notes, 'crawl', '30m')).length === 0) return false
    await workerOn(backends).visit(5, () => done([], 100))
    return true
  })
  expect(told).toEqual([])
}

describe('a watch', () => {
  it('on SQLite samples the crawl and leaves its note', async () => {
    const dir = temporaryDirectory('watch')
    const address = `sqlite:${join(dir, 'shoal.db')}`
    const backends = await openBackends({ queue: address, store: address })
    try {
      await crawlOn(backends)
      expect((await readSeries(backends.notes, 'crawl', '24h')).at(-1)).toMatchObject({ queued: 20 })
      expect(await readAlerts(backends.notes)).toMatchObject({ active: [], ended: [] })
      const { usedBytes = 0, limitBytes = 0, what } = (await backends.capacity()) ?? {}
      expect(what).toBe('disk')
      expect(usedBytes).toBeLessThanOrEqual(limitBytes)
    } finally {
      await backends.close()
      removeDirectory(dir)
    }
  })

  it('on Redis tells when its memory is nearly used up, and knows no limit but that of the machine otherwise', async () => {
    const server = await redisForTest()
    const backends = await openBackends({ queue: server.url, store: 'memory:' })
    const connection = await openForTest(server.url)
    try {
      const { usedBytes, limitBytes } = (await backends.capacity()) ?? { usedBytes: 0, limitBytes: 0 }
      expect(usedBytes).toBeGreaterThan(0)
      expect(limitBytes).toBeGreaterThan(usedBytes)
      await crawlOn(backends)
      await connection.command(null, ['SET', 'ballast', 'x'.repeat(8_000_000)])
      const { usedBytes: now } = (await backends.capacity()) ?? { usedBytes: 0 }
      await connection.command(null, ['CONFIG', 'SET', 'maxmemory', String(Math.round(now / 0.9))])
      const alerts = only('queue_memory')
      const told = await watchUntil(backends, async () => (await readAlerts(backends.notes)).active.length > 0, alerts)
      expect(told).toEqual(['alert.began queue_memory'])
    } finally {
      await backends.close()
    }
  })
})
