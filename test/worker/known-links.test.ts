import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  codeOf,
  HrefHasher,
  KnownLinks,
  type LearntLink,
  type LinkHash,
  UNKNOWN,
} from '../../src/worker/known-links.js'
import { runs } from '../support/longer.js'

const PAGE = 'https://a.test/shop/books/1.html?x=1'

function hash(href: string, page = PAGE, route?: string): LinkHash {
  return new HrefHasher(page).hash(href, route, { high: 0, low: 0 })
}

const learnt = (href: string, filtered = 0): LearntLink => ({ ...hash(href), filtered })

const same = (a: LinkHash, b: LinkHash) => a.high === b.high && a.low === b.low

describe('known links', () => {
  it('knows what was added, and nothing else', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    expect(known.find(hash('/a'))).toBe(UNKNOWN)
    known.add({ epoch: epoch, hashes: [learnt('/a')], filtered: [] })
    expect(known.find(hash('/a'))).toBe(0)
    expect(known.find(hash('/b'))).toBe(UNKNOWN)
    expect(known.serve('crawl', 1)).toBe(epoch)
  })

  it.each([
    ['another crawl', 'other', 1],
    ['a queue that went back', 'crawl', 2],
  ])('knows nothing for %s', (_, crawl, gen) => {
    const known = new KnownLinks()
    known.add({ epoch: known.serve('crawl', 1), hashes: [learnt('/a')], filtered: [] })
    known.serve(crawl, gen)
    expect(known.find(hash('/a'))).toBe(UNKNOWN)
  })

  it('does not take what was settled for the crawl before', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    known.serve('other', 1)
    known.add({ epoch: epoch, hashes: [learnt('/a')], filtered: [] })
    expect(known.find(hash('/a'))).toBe(UNKNOWN)
  })

  it('knows what the filter did to a link, and of which reasons the queue has an example', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    const example = { url: 'https://a.test/?PHPSESSID=1', became: 'https://a.test/' }
    const filtered = [
      { reason: 'session_id', count: 1, example },
      { reason: 'bad_url', count: 1, example: null },
    ] as const
    known.add({ epoch, hashes: [learnt('/a', codeOf('session_id')), learnt('/b', codeOf('bad_url'))], filtered })
    expect([known.find(hash('/a')), known.find(hash('/b'))]).toEqual([codeOf('session_id'), codeOf('bad_url')])
    expect([known.hasExample('session_id'), known.hasExample('bad_url')]).toEqual([true, false])
    known.serve('crawl', 2)
    expect(known.hasExample('session_id')).toBe(false)
  })

  it('stays small however many there are, and still works', () => {
    const known = new KnownLinks()
    const epoch = known.serve('crawl', 1)
    for (let page = 0; page < 300_000; page++)
      known.add({ epoch: epoch, hashes: [learnt(`/page-${page}`)], filtered: [] })
    expect(known.find(hash('/page-299999'))).toBe(0)
    expect(known.find(hash('/page-300000'))).toBe(UNKNOWN)
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
