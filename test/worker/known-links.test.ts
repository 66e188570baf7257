import { describe, expect, it } from 'vitest'
import type { Target } from '../../src/url/admit.js'
import type { Link } from '../../src/url/link.js'
import { KnownLinks } from '../../src/worker/known-links.js'

const targetOf = (fp: string): Target => ({
  url: `https://example.com/${fp}`,
  fp,
  host: 'example.com',
  route: 'page',
  priority: 0,
  known: 0,
})
const linkOf = ({ known: _, ...rest }: Target): Link => ({ ...rest, depth: 1 })

describe('known links', () => {
  it('knows what was added, by the target itself and by another one of the same fingerprint', () => {
    const known = new KnownLinks()
    const stamp = known.serve('crawl', 1)
    const target = targetOf('a')
    expect(known.has(target)).toBe(false)
    known.add(stamp, [linkOf(target)], [target])
    expect(known.has(target)).toBe(true)
    expect(known.has(targetOf('a'))).toBe(true)
    expect(known.has(targetOf('b'))).toBe(false)
    expect(known.serve('crawl', 1)).toBe(stamp)
    expect(known.has(target)).toBe(true)
  })

  it.each([
    ['another crawl', 'other', 1],
    ['a queue that went back', 'crawl', 2],
  ])('knows nothing for %s, whatever is stamped on the targets', (_, crawl, gen) => {
    const known = new KnownLinks()
    const stamp = known.serve('crawl', 1)
    const target = targetOf('a')
    known.add(stamp, [linkOf(target)], [target])
    known.serve(crawl, gen)
    expect(known.has(target)).toBe(false)
    known.serve('crawl', 1)
    expect(known.has(target)).toBe(false)
  })

  it('does not take what was settled for the crawl before', () => {
    const known = new KnownLinks()
    const stamp = known.serve('crawl', 1)
    known.serve('other', 1)
    const target = targetOf('a')
    known.add(stamp, [linkOf(target)], [target])
    expect(known.has(target)).toBe(false)
  })

  it('does not believe the stamps of another memory', () => {
    const first = new KnownLinks()
    const target = targetOf('a')
    first.add(first.serve('crawl', 1), [linkOf(target)], [target])
    const second = new KnownLinks()
    second.serve('crawl', 1)
    expect(second.has(target)).toBe(false)
    expect(first.has(target)).toBe(true)
  })
})
