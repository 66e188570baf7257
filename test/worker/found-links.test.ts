import { expect, it } from 'vitest'
import type { FoundLink } from '../../src/spider/spider.js'
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
