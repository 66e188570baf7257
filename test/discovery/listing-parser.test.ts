import { describe, expect, it } from 'vitest'
import { createListingParser, type Listed } from '../../src/discovery/listing-parser.js'

/** In pieces of every size, which must not matter. */
function parse(text: string, size = text.length): Listed[] {
  const parser = createListingParser('https://a.example/feeds/all.xml')
  const found: Listed[] = []
  for (let at = 0; at < text.length; at += size) found.push(...parser.write(text.slice(at, at + size)))
  return [...found, ...parser.end()]
}

const day = (text: string) => Date.parse(text)
const page = (url: string, modifiedAt: number | null = null): Listed => ({ kind: 'page', url, modifiedAt })
const XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

const TABLE: [string, string, Listed[]][] = [
  [
    'a sitemap',
    `<?xml version="1.0" encoding="UTF-8"?>\n<urlset ${XMLNS}><url><loc> https://a.example/1 </loc><lastmod>2026-11-01</lastmod>
     <changefreq>daily</changefreq></url><url><loc>https://a.example/2?a=1&amp;b=2</loc><lastmod>soon</lastmod></url></urlset>`,
    [page('https://a.example/1', day('2026-11-01')), page('https://a.example/2?a=1&b=2')],
  ],
  [
    'dates that are none',
    `<urlset><url><loc>https://a.example/1</loc><lastmod>Chapter 5</lastmod></url><url><loc>https://a.example/2</loc><lastmod>2026-02-30</lastmod></url></urlset>`,
    [page('https://a.example/1'), page('https://a.example/2')],
  ],
  [
    'an index of sitemaps',
    `<sitemapindex ${XMLNS}><sitemap><loc>https://a.example/s1.xml.gz</loc><lastmod>2026-10-01T10:00:00+02:00</lastmod></sitemap></sitemapindex>`,
    [{ kind: 'file', url: 'https://a.example/s1.xml.gz', modifiedAt: day('2026-10-01T08:00:00Z') }],
  ],
  [
    'a prefix for everything, and images that are no pages',
    `<sm:urlset xmlns:sm="x" xmlns:image="y"><sm:url><image:image><image:loc>https://cdn.example/i.png</image:loc></image:image><sm:loc>https://a.example/1</sm:loc></sm:url></sm:urlset>`,
    [page('https://a.example/1')],
  ],
  [
    'CDATA, comments and a bare ampersand',
    `<urlset><!-- x --><url><loc><![CDATA[https://a.example/1?a=1&b=2]]></loc></url><url><loc>https://a.example/2?a=1&b=2</loc></url></urlset>`,
    [page('https://a.example/1?a=1&b=2'), page('https://a.example/2?a=1&b=2')],
  ],
  [
    'one that ends in the middle',
    '<urlset><url><loc>https://a.example/1</loc></url><url><loc>https://a.ex',
    [page('https://a.example/1')],
  ],
  ['an empty one', '<urlset/>', []],
  [
    'white space in front',
    '\n\n  <urlset><url><loc>https://a.example/1</loc></url></urlset>',
    [page('https://a.example/1')],
  ],
  [
    'RSS 2.0',
    `<rss version="2.0"><channel><title>t</title><link>https://a.example/</link><image><url>https://a.example/i.png</url></image>
     <item><title>x</title><link>https://a.example/1</link><pubDate>Sun, 15 Nov 2026 10:00:00 GMT</pubDate></item>
     <item><guid>https://a.example/2</guid></item><item><guid isPermaLink="false">17</guid></item></channel></rss>`,
    [page('https://a.example/1', day('2026-11-15T10:00:00Z')), page('https://a.example/2')],
  ],
  [
    'RSS 1.0',
    `<rdf:RDF xmlns:rdf="r" xmlns="p" xmlns:dc="d"><channel rdf:about="x"><link>https://a.example/</link></channel><item rdf:about="y"><link>https://a.example/1</link><dc:date>2026-11-01</dc:date></item></rdf:RDF>`,
    [page('https://a.example/1', day('2026-11-01'))],
  ],
  [
    'Atom',
    `<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/feed"/><entry><link rel="edit" href="/edit/1"/><link href="../posts/1"/><updated>2026-11-02T00:00:00Z</updated></entry></feed>`,
    [page('https://a.example/posts/1', day('2026-11-02'))],
  ],
  [
    'plain text',
    'https://a.example/1\r\n\r\n# no\r\nhttps://a.example/2',
    [page('https://a.example/1'), page('https://a.example/2')],
  ],
]

describe('a file that lists URLs', () => {
  it.each(TABLE)('%s', (_, text, listed) => {
    expect(parse(text)).toEqual(listed)
    for (const size of [1, 7, 64]) expect(parse(text, size)).toEqual(listed)
  })

  it.each([
    ['a page', '<!doctype html><html><body>Not found</body></html>'],
    ['anything else', '<note><to>you</to></note>'],
    ['a text without end', `<urlset><url><loc>${'x'.repeat(3_000_000)}`],
    ['a comment without end', `<urlset><!--${'x'.repeat(3_000_000)}`],
    ['a line without end', 'x'.repeat(100_000)],
    ['a thousand levels', `<urlset>${'<a>'.repeat(1_000)}`],
  ])('refuses %s', (_, text) => {
    expect(() => parse(text, 65_536)).toThrow(expect.objectContaining({ code: 'bad_listing' }))
  })

  it('knows no entities but the five: a bomb of them is a few characters', () => {
    const lol = Array.from({ length: 9 }, (_, n) => `<!ENTITY l${n + 1} "${`&l${n};`.repeat(10)}">`).join('')
    const bomb = `<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY l0 "lol">${lol}<!ENTITY secret SYSTEM "file:///etc/passwd">]>
      <urlset><url><loc>https://a.example/&l9;&secret;</loc></url><url><loc>https://a.example/2</loc></url></urlset>`
    const found = parse(bomb, 1_000)
    expect(found).toHaveLength(2)
    expect(found[0]?.url.length).toBeLessThan(100)
    expect(found[1]).toEqual(page('https://a.example/2'))
  })

  it('keeps nothing of what it has given', () => {
    const parser = createListingParser('https://a.example/')
    let found = parser.write('<urlset>').length
    const piece = `<url><loc>https://a.example/${'x'.repeat(100)}</loc></url>`.repeat(400)
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 250; n++) found += parser.write(piece).length
    expect(found).toBe(100_000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60_000_000)
  })
})
