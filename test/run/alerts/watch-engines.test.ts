import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { seededRandom, systemClock } from '../../../src/clock.js'
import { readAlerts } from '../../../src/observe/alerts/alert-notes.js'
import { readSeries } from '../../../src/observe/series/series-notes.js'
import { NO_CHANNELS } from '../../../src/run/alerts/load-alerts.js'
import { tendWatch } from '../../../src/run/alerts/watch-duty.js'
import { openPlant, type Plant } from '../../../src/wire/backends.js'
import { done, specOf } from '../../contract/frontier-fixtures.js'
import { openForTest, redisForTest } from '../../support/redis-opened.js'
import { removeDirectory, temporaryDirectory, until } from '../../support/redis-server.js'
import { logInto, only, pagesOf, workerOn } from './watched.js'

/** The watcher of a real plant, by the real clock, until `enough`; what its log said. */
async function watchUntil(plant: Plant, enough: () => Promise<boolean>, alerts = NO_CHANNELS): Promise<string[]> {
  const told: string[] = []
  const end = new AbortController()
  const parts = { alerts, clock: systemClock, random: seededRandom(1), log: logInto(told), signal: end.signal }
  const tending = tendWatch(plant, parts)
  await until('the watcher', enough)
  end.abort()
  await tending
  return told
}

/** Some pages are fetched between the first look and the last one. */
async function crawlOn(plant: Plant): Promise<void> {
  await plant.frontier.open(specOf({ id: 'crawl' }))
  await plant.frontier.add('crawl', pagesOf('a.test', 0, 20))
  const told = await watchUntil(plant, async () => {
    if ((await readSeries(plant.board, 'crawl', '30m')).length === 0) return false
    await workerOn(plant).visit(5, () => done([], 100))
    return true
  })
  expect(told).toEqual([])
}

describe('a watch', () => {
  it('on SQLite samples the crawl and leaves its note', async () => {
    const dir = temporaryDirectory('watch')
    const address = `sqlite:${join(dir, 'shoal.db')}`
    const plant = await openPlant({ queue: address, store: address })
    try {
      await crawlOn(plant)
      expect((await readSeries(plant.board, 'crawl', '24h')).at(-1)).toMatchObject({ queued: 20 })
      expect(await readAlerts(plant.board)).toMatchObject({ active: [], ended: [] })
      const { usedBytes = 0, limitBytes = 0, what } = (await plant.capacity()) ?? {}
      expect(what).toBe('disk')
      expect(usedBytes).toBeLessThanOrEqual(limitBytes)
    } finally {
      await plant.close()
      removeDirectory(dir)
    }
  })

  it('on Redis tells when its memory is nearly used up, and knows no limit but that of the machine otherwise', async () => {
    const server = await redisForTest()
    const plant = await openPlant({ queue: server.url, store: 'memory:' })
    const connection = await openForTest(server.url)
    try {
      const { usedBytes, limitBytes } = (await plant.capacity()) ?? { usedBytes: 0, limitBytes: 0 }
      expect(usedBytes).toBeGreaterThan(0)
      expect(limitBytes).toBeGreaterThan(usedBytes)
      await crawlOn(plant)
      await connection.command(null, ['SET', 'ballast', 'x'.repeat(8_000_000)])
      const { usedBytes: now } = (await plant.capacity()) ?? { usedBytes: 0 }
      await connection.command(null, ['CONFIG', 'SET', 'maxmemory', String(Math.round(now / 0.9))])
      const alerts = only('queue_memory')
      const told = await watchUntil(plant, async () => (await readAlerts(plant.board)).active.length > 0, alerts)
      expect(told).toEqual(['alert.began queue_memory'])
    } finally {
      await plant.close()
    }
  })
})
