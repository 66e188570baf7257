import { expect, it } from 'vitest'
import { systemClock as clock } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { ShoalError } from '../../src/errors.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { openBackends } from '../../src/wire/backends.js'

const spider = spiderFromDefinition(
  defineSpider({ name: 'shop', start: ['https://shop.example/'], routes: { page: { match: '**' } } }),
)
let turns = 0
const random = () => (++turns % 97) / 97

it.each([false, true])('two that start a spider at once get one crawl, with fresh: %s', async (fresh) => {
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  const both = await Promise.all([1, 2].map(() => openCrawl(backends, spider, { fresh, clock, random })))
  expect(new Set(both.map(({ crawl }) => crawl)).size).toBe(1)
  expect(both.map(({ resumed }) => resumed).sort()).toEqual([false, true])
  expect(await backends.frontier.crawls()).toHaveLength(1)

  const later = await openCrawl(backends, spider, { fresh, clock, random })
  expect(later).toMatchObject(fresh ? { resumed: false, setAside: { id: both[0]?.crawl } } : { resumed: true })
  await backends.close()
})

it('one that fails does not hold up the next', async () => {
  const backends = await openBackends({ queue: 'memory:', store: 'memory:' })
  const away = Object.assign(Object.create(backends.frontier) as typeof backends.frontier, {
    identity: () => Promise.reject(new ShoalError('queue_down', 'the queue is away')),
  })
  const options = { fresh: false, clock, random }
  await expect(openCrawl({ ...backends, frontier: away }, spider, options)).rejects.toMatchObject({
    code: 'queue_down',
  })
  const startedAt = clock.mono()
  expect(await openCrawl(backends, spider, options)).toMatchObject({ resumed: false })
  expect(clock.mono() - startedAt).toBeLessThan(5_000)
  await backends.close()
})
