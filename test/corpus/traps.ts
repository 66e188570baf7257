import type { Fixture } from './fixture.js'

/** Links that lead into traps; what becomes of each kind in detail is tested beside the code. */

/** Follows every link from a page, and tells how many pages there were in the end. */
function followed(number: number, name: string, path: string, expected: string, limit = 20): Fixture {
  return {
    number,
    name,
    expected,
    async run({ site, crawl }) {
      const { links } = await crawl(site.origin + path, {
        definition: {
          routes: { page: { match: '**', follow: [{ links: 'a' }] } },
          scope: { hosts: ['127.0.0.1'], maxDepth: 50 },
          // So many pages are fetched at most; the others are refused with a reason.
          budget: { pages: limit },
        },
      })
      return `${links.length - 1} found`
    },
  }
}

const link = (href: string) => `/link?${encodeURIComponent(href)}`

export const TRAPS: readonly Fixture[] = [
  followed(49, '/a/a/a/a', link('/a/a/a/a'), '0 found'),
  followed(50, 'a relative link that grows', '/grows', '2 found', 1_000),
  followed(52, '100,000 links on a page', '/many-links', '19 found'),
  followed(54, 'a URL of 1 MB', '/long-link', '0 found'),
  followed(56, 'tabs and newlines in a URL', link('ht\ntp://127.0.0.1/x\ty'), '1 found'),
  followed(56, 'port 0', link('http://127.0.0.1:0/'), '0 found'),
  followed(56, 'port 65536', link('http://127.0.0.1:65536/'), '0 found'),
  followed(56, 'NUL', link('/x\0y'), '1 found'),
  followed(56, 'a lone surrogate and a mark that turns the text', '/odd-link', '1 found'),
]
