import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { whyAbsent } from '../../../src/observe/explain/why-absent.js'
import { ownPart } from '../../../src/politeness/robots.js'
import { encodeNote, type Found, noteKey } from '../../../src/politeness/robots-note.js'
import type { SpiderDefinition } from '../../../src/spider/definition.js'
import { resolveSpider } from '../../../src/spider/resolve.js'
import { linkTo, specOf } from '../../contract/frontier-fixtures.js'

async function setUp(definition: Partial<SpiderDefinition>, links: readonly string[] = []) {
  const clock = new ManualClock()
  const frontier = new MemoryFrontier({ clock })
  const notes = memoryNotes({ clock })
  const spider = resolveSpider(
    { name: 'books', start: ['https://a.test/'], routes: { all: { match: '/**' } }, ...definition } as SpiderDefinition,
    'hash',
  )
  const { budget, maxPending, overflow } = spider
  const crawl = await frontier.open(specOf({ id: 'c1', budget, maxPending, overflow }))
  await frontier.add(
    'c1',
    links.map((address) => linkTo(address)),
  )
  const codes = async (path = '/new') => {
    const target = { url: `https://a.test${path}`, host: 'a.test' }
    return (await whyAbsent({ frontier, notes }, crawl, spider, target)).map(({ code }) => code)
  }
  const robots = async (found: Found | null) => {
    const key = noteKey('https://a.test/', 'Shoal')
    await notes.claim(key, 'w1', 0, 1000)
    await notes.post(key, 'w1', encodeNote({ found, failures: found === null ? 1 : 0, why: '' }), 1000)
  }
  return { frontier, codes, robots }
}

describe('why a crawl has not got a URL', () => {
  it('is no limit that it has not reached', async () => {
    const { codes } = await setUp({ budget: { pages: 3, pagesPerHost: 3 }, maxPending: 3 }, ['a.test/1', 'a.test/2'])
    expect(await codes()).toEqual([])
  })

  it.each<[Partial<SpiderDefinition>, string[]]>([
    [{ budget: { pages: 2 } }, ['budget_pages']],
    [{ budget: { pagesPerHost: 2 } }, ['budget_pages_per_host']],
    [{ maxPending: 2 }, ['queue_full']],
    [{ maxPending: 2, overflow: 'keep' }, []],
  ])('is a limit that is reached: %j', async (definition, expected) => {
    const { codes } = await setUp(definition, ['a.test/1', 'a.test/2', 'a.test/3'])
    expect(await codes()).toEqual(expected)
  })

  it('is the robots.txt that the fleet has read', async () => {
    const part = ownPart('User-agent: *\nDisallow: /private', 'Shoal')
    const { codes, robots } = await setUp({})
    expect(await codes('/private/x')).toEqual([])
    await robots({ kind: 'rules', part })
    expect(await codes('/private/x')).toEqual(['robots_disallowed'])
    expect(await codes('/public')).toEqual([])
    await robots(null)
    expect(await codes('/public')).toEqual(['robots_unreachable'])
    await robots({ kind: 'denied' })
    expect(await codes('/public')).toEqual([])
  })

  it('is a closed robots.txt only when the spider says so, and none at all when it asks for none', async () => {
    const strict = await setUp({ robots: 'strict' })
    await strict.robots({ kind: 'denied' })
    expect(await strict.codes()).toEqual(['robots_disallowed'])
    const careless = await setUp({ robots: false })
    await careless.robots(null)
    expect(await careless.codes()).toEqual([])
  })
})
