import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HrefHasher, KnownLinks, type LinkHash } from '../../src/worker/known-links.js'
import { runs } from '../support/longer.js'

const PAGE = 'https://a.test/shop/books/1.html?x=1'

function hash(href: string, page = PAGE, route?: string): LinkHash {
  return new HrefHasher(page).hash(href, route, { high: 0, low: 0 })
}

const same = (a: LinkHash, b: LinkHash) => a.high === b.high && a.low === b.low

describe('known links', () => {
  it('knows what was added, and nothing else', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    expect(known.has(hash('/a'))).toBe(false)
    known.add({ epoch: epoch, hashes: [hash('/a')] })
    expect(known.has(hash('/a'))).toBe(true)
    expect(known.has(hash('/b'))).toBe(false)
    expect(known.serve('crawl', 1)).toBe(epoch)
  })

  it.each([
    ['another crawl', 'other', 1],
    ['a queue that went back', 'crawl', 2],
  ])('knows nothing for %s', (_, crawl, gen) => {
    const known = new KnownLinks()
    known.add({ epoch: known.serve('crawl', 1), hashes: [hash('/a')] })
    known.serve(crawl, gen)
    expect(known.has(hash('/a'))).toBe(false)
  })

  it('does not take what was settled for the crawl before', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    known.serve('other', 1)
    known.add({ epoch: epoch, hashes: [hash('/a')] })
    expect(known.has(hash('/a'))).toBe(false)
  })

  it('stays small however many there are, and still works', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    for (let page = 0; page < 300_000; page++) known.add({ epoch: epoch, hashes: [hash(`/page-${page}`)] })
    expect(known.has(hash('/page-299999'))).toBe(true)
    expect(known.has(hash('/page-300000'))).toBe(false)
  })
})

describe('hashes of hrefs', () => {
  it('are the same wherever a link resolves to the same place by the same words', () => {
    expect(same(hash('/a', 'https://a.test/x/y'), hash('/a', 'https://a.test/'))).toBe(true)
    expect(same(hash('b.html', 'https://a.test/x/1'), hash('b.html', 'https://a.test/x/2?q=/z'))).toBe(true)
    expect(same(hash('https://b.test/', 'https://a.test/'), hash('https://b.test/', 'https://c.test/'))).toBe(true)
    expect(same(hash('/a#top'), hash('/a'))).toBe(true)
  })

  it('differ where the place matters', () => {
    expect(same(hash('/a', 'https://a.test/'), hash('/a', 'https://b.test/'))).toBe(false)
    expect(same(hash('/a', 'https://a.test/'), hash('/a', 'http://a.test/'))).toBe(false)
    expect(same(hash('b.html', 'https://a.test/x/'), hash('b.html', 'https://a.test/y/'))).toBe(false)
    expect(same(hash('?page=2', 'https://a.test/x'), hash('?page=2', 'https://a.test/y'))).toBe(false)
    expect(same(hash('//b.test/a', 'https://a.test/'), hash('//b.test/a', 'http://a.test/'))).toBe(false)
    expect(same(hash('/a', PAGE, 'one'), hash('/a', PAGE, 'two'))).toBe(false)
    expect(same(hash('/a', PAGE, 'one'), hash('/a', PAGE))).toBe(false)
  })

  it('never agree for hrefs that lead to different URLs', () => {
    const href = fc.oneof(
      fc.webPath(),
      fc.webUrl({ withQueryParameters: true }),
      fc.string(),
      fc.constantFrom('', '?', '#x'),
    )
    const page = fc.webUrl({ withQueryParameters: true })
    fc.assert(
      fc.property(page, page, href, href, (pageA, pageB, hrefA, hrefB) => {
        if (!same(hash(hrefA, pageA), hash(hrefB, pageB))) return
        const [a, b] = [resolve(hrefA, pageA), resolve(hrefB, pageB)]
        expect(a).toBe(b)
      }),
      { numRuns: runs(5_000) },
    )
  })

  it('never agree for a million numbered pages', () => {
    const seen = new Set<number>()
    const hasher = new HrefHasher(PAGE)
    const out = { high: 0, low: 0 }
    for (let page = 0; page < 1_000_000; page++) {
      hasher.hash(`/catalogue/item_${page}/index.html`, undefined, out)
      // 53 of the 64 bits: if these do not agree, all 64 do not.
      seen.add((out.high & 0x1fffff) * 2 ** 32 + out.low)
    }
    expect(seen.size).toBe(1_000_000)
  })
})

/** Without fragment; hrefs that are no URL are the same nothing. */
function resolve(href: string, page: string): string | null {
  try {
    const url = new URL(href, page)
    url.hash = ''
    return url.href
  } catch {
    return null
  }
}
