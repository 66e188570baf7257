import { expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import type { Frontier } from '../../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { findLink } from '../../../src/observe/explain/find-link.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import { linkTo, specOf } from '../../contract/frontier-fixtures.js'

const spider = spiderFromDefinition(
  defineSpider({
    name: 'books',
    start: ['https://www.a.test/1'],
    pace: { per: 'domain' },
    routes: { page: { match: '**' } },
  }),
)

/** A queue that looks through the host it is told, and notes which. */
function byHost(frontier: Frontier, asked: (string | undefined)[]): Frontier {
  const explain: Frontier['explain'] = async (crawl, fp, host) => {
    asked.push(host)
    const where = await frontier.explain(crawl, fp)
    const isThere = host === undefined || where.state === 'unknown' || where.link === null || where.link.host === host
    return isThere ? where : { state: 'done', link: null, crawlState: 'running' }
  }
  return new Proxy(frontier, {
    get: (target, name) => (name === 'explain' ? explain : (Reflect.get(target, name, target) as unknown)),
  })
}

it('looks at the host of a URL first, and further only when that is a guess', async () => {
  const frontier = new MemoryFrontier({ clock: new ManualClock() })
  const crawl = await frontier.open(specOf())
  await frontier.add('c1', [linkTo('www.a.test/1', { host: 'a.test' }), linkTo('b.test/1')])
  const look = async (url: string, at: typeof spider | null) => {
    const asked: (string | undefined)[] = []
    const found = await findLink(byHost(frontier, asked), [crawl], url, async () => at)
    return { state: found.kind === 'known' ? found.where.state : found.kind, asked }
  }
  expect(await look('https://b.test/1', null)).toEqual({ state: 'queued', asked: ['b.test'] })
  expect(await look('https://www.a.test/1', spider)).toEqual({ state: 'queued', asked: ['a.test'] })
  expect(await look('https://www.a.test/1', null)).toEqual({ state: 'queued', asked: ['www.a.test', undefined] })
  expect(await look('https://www.a.test/2', spider)).toEqual({ state: 'never', asked: ['a.test', undefined] })
})

it('says which rule made the URL that was asked for the one that is searched for', async () => {
  const frontier = new MemoryFrontier({ clock: new ManualClock() })
  const crawl = await frontier.open(specOf())
  await frontier.add('c1', [linkTo('www.a.test/1', { host: 'a.test' })])
  const look = async (url: string, at: typeof spider | null) => {
    const found = await findLink(frontier, [crawl], url, async () => at)
    return [found.kind, 'rule' in found ? found.rule : null]
  }
  expect(await look('https://www.a.test/1?PHPSESSID=1', spider)).toEqual(['known', 'session_id'])
  expect(await look('https://www.a.test/1?PHPSESSID=1', null)).toEqual(['known', 'session_id'])
  expect(await look('https://www.a.test/1', spider)).toEqual(['known', null])
  expect(await look('https://www.a.test/2?b=1&a=1', spider)).toEqual(['never', 'param_order'])
  expect(await look('https://www.a.test/2?utm_source=x', null)).toEqual(['never', 'dropped_params'])
})
