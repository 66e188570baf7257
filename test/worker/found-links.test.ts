import { describe, expect, it } from 'vitest'
import type { FoundLink } from '../../src/spider/spider.js'
import type { FilteredLinks } from '../../src/url/filter-reasons.js'
import { acceptLinks } from '../../src/worker/found-links.js'
import { PAGE, type Setting, visitParts } from './visit-parts.js'

function page(spider: Setting['spider'] = {}) {
  const { parts, leased, events } = visitParts({ spider })
  const { lease } = leased({ depth: 1 })
  const accept = (...links: FoundLink[]) => acceptLinks({ links, base: PAGE }, lease, parts)
  const hrefs = (...links: string[]) => accept(...links.map((href) => ({ href })))
  return { accept, hrefs, parts, events }
}

const urls = ({ links }: { links: { url: string }[] }) => links.map(({ url }) => url)

it('resolves links against the page, and takes each once, one click deeper', () => {
  const { hrefs } = page()
  const { links } = hrefs('/a', 'a', '/a#top', 'https://site.test/b')
  expect(links.map(({ url, depth }) => [url, depth])).toEqual([
    ['https://site.test/a', 2],
    ['https://site.test/b', 2],
  ])
})

it('a further page of the same list is not deeper', () => {
  const { accept } = page()
  expect(accept({ href: '/next', sameDepth: true }).links.map(({ depth }) => depth)).toEqual([1])
})

it('leaves out what the queue is known to have, once it was accepted', () => {
  const { hrefs, parts } = page()
  const first = hrefs('/a', '/b')
  expect(urls(hrefs('/a'))).toEqual(['https://site.test/a'])
  parts.known.add(first)
  expect(urls(hrefs('/a', '/c'))).toEqual(['https://site.test/c'])
})

it('a link with a request or a key of its own is never known by its URL', () => {
  const { accept, parts } = page()
  const posted = { href: '/a', request: { method: 'POST', body: '1' } }
  const keyed = { href: '/b', dedupeKey: 'today' }
  const first = accept(posted, keyed)
  expect(first.hashes).toEqual([])
  parts.known.add(first)
  expect(accept(posted, keyed).links).toHaveLength(2)
})

it('learns that a link is rejected, but not that it is too deep here', () => {
  const { hrefs } = page({ scope: { maxDepth: 1 } })
  const { links, hashes } = hrefs('/deep', 'https://elsewhere.test/')
  expect([links, hashes.length]).toEqual([[], 1])
})

it('offers links again to a queue that may have had no room for them', () => {
  const { hrefs } = page({ maxPending: 10 })
  const { links, hashes } = hrefs('/a', 'https://elsewhere.test/')
  // Only what no filter lets pass is known.
  expect([links.length, hashes.length]).toEqual([1, 1])
})

it('reads no more links of a page than the spider allows, and says so', () => {
  const { hrefs, events } = page({ scope: { maxLinksPerPage: 2 } })
  expect(urls(hrefs('/a', '/b', '/c'))).toEqual(['https://site.test/a', 'https://site.test/b'])
  expect(events).toEqual([{ event: 'link.refused', code: 'too_many_links', url: PAGE, found: 3, limit: 2 }])
})

it('forgets what is known when the queue may have lost it', () => {
  const { hrefs, parts } = page()
  parts.known.add(hrefs('/a'))
  const restored = { ...parts, frontier: { ...parts.frontier, doubts: 1 } }
  const { lease } = visitParts().leased({ depth: 1 })
  const again = acceptLinks({ links: [{ href: '/a' }], base: PAGE }, lease, restored)
  expect([urls(again), again.doubts]).toEqual([['https://site.test/a'], 1])
})

describe('what the filter did', () => {
  const counts = ({ filtered }: { filtered: readonly FilteredLinks[] }) =>
    Object.fromEntries(filtered.map(({ reason, count }) => [reason, count]))

  it('is counted by reason, each link of the page once, with an example', () => {
    const { hrefs } = page({ scope: { maxDepth: 50 } })
    const { filtered, links } = hrefs(
      '/a?PHPSESSID=1&utm_source=x',
      '/a?PHPSESSID=2',
      '/b?z=1&y=2',
      '/b?y=2&z=1',
      '/calendar/2150/03',
      'https://joe:secret@elsewhere.test/',
      'mailto:joe@site.test',
      '/plain',
    )
    expect(links).toHaveLength(3)
    expect(filtered).toEqual([
      {
        reason: 'session_id',
        count: 2,
        example: { url: 'https://site.test/a?PHPSESSID=1&utm_source=x', became: 'https://site.test/a' },
      },
      {
        reason: 'param_order',
        count: 1,
        example: { url: 'https://site.test/b?z=1&y=2', became: 'https://site.test/b?y=2&z=1' },
      },
      { reason: 'trap_calendar', count: 1, example: { url: 'https://site.test/calendar/2150/03', became: null } },
      { reason: 'out_of_scope', count: 1, example: { url: 'https://elsewhere.test/', became: null } },
      { reason: 'bad_scheme', count: 1, example: { url: 'mailto:joe@site.test', became: null } },
    ])
  })

  it('counts a link of every page, but sends an example only until the queue has one', () => {
    const { hrefs, parts } = page()
    const first = hrefs('/a?PHPSESSID=1', 'https://elsewhere.test/', '/plain')
    expect(first.filtered.map(({ example }) => example !== null)).toEqual([true, true])
    // Not settled: the queue knows nothing yet.
    expect(hrefs('/a?PHPSESSID=1').filtered).toMatchObject([{ example: { became: 'https://site.test/a' } }])
    parts.known.add(first)
    const second = hrefs('/a?PHPSESSID=1', 'https://elsewhere.test/', '/plain', '/b?PHPSESSID=1')
    expect(second.filtered).toEqual([
      { reason: 'session_id', count: 2, example: null },
      { reason: 'out_of_scope', count: 1, example: null },
    ])
  })

  it('says that a link keeps what looks like a session id', () => {
    const { hrefs } = page()
    const url = 'https://site.test/doc?s=9e107d9d372bb6826bd81d3542a419d6'
    const { links, filtered } = hrefs(url)
    expect(urls({ links })).toEqual([url])
    expect(filtered).toEqual([{ reason: 'likely_session_id', count: 1, example: { url, became: null } }])
  })

  it('counts the links over the cap of a page, and those that are too deep', () => {
    const { hrefs } = page({ scope: { maxLinksPerPage: 2, maxDepth: 1 } })
    const { filtered } = hrefs('/a', '/b', '/c', '/d', '/e')
    expect(filtered).toEqual([
      { reason: 'too_deep', count: 2, example: { url: 'https://site.test/a', became: null } },
      { reason: 'too_many_links', count: 3, example: { url: PAGE, became: null } },
    ])
  })

  it('adds up to the same numbers whatever a worker remembers', () => {
    const pages = Array.from({ length: 30 }, (_, nth) => [
      '/home?b=1&a=1',
      `/p/${nth}?PHPSESSID=${nth}`,
      `https://elsewhere.test/${nth % 3}`,
      '/a/a/a',
    ])
    const sum = (forget: boolean) => {
      const { hrefs, parts } = page()
      const total: Record<string, number> = {}
      for (const links of pages) {
        const accepted = hrefs(...links)
        for (const [reason, count] of Object.entries(counts(accepted))) total[reason] = (total[reason] ?? 0) + count
        if (!forget) parts.known.add(accepted)
      }
      return total
    }
    expect(sum(false)).toEqual({ param_order: 30, session_id: 30, out_of_scope: 30, trap_repeats: 30 })
    expect(sum(true)).toEqual(sum(false))
  })

  it('shows no href in full that is longer than any URL may be', () => {
    const { hrefs } = page()
    const { filtered } = hrefs(`/${'a'.repeat(1_000_000)}`, 'http://[\ud800\x1b')
    for (const { example } of filtered) expect(example?.url.length).toBeLessThanOrEqual(200)
    expect(counts({ filtered })).toEqual({ url_too_long: 1, bad_url: 1 })
  })
})
