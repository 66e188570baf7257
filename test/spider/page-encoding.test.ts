import '@exodus/bytes/encoding.js'
import { percentEncodeAfterEncoding } from '@exodus/bytes/whatwg.js'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'
import { LINKS_IN_ENCODINGS } from '../url/links-in-encodings.js'

const HERE = 'https://books.example/list?page=1'

function inEncoding(html: string, encoding: string, contentType = `text/html; charset=${encoding}`): Page {
  const escaped = percentEncodeAfterEncoding(encoding, html, '%')
  const bytes = escaped.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const body = Buffer.from(bytes, 'latin1')
  const headers = { 'content-type': contentType }
  return createPage({
    url: HERE,
    requestedUrl: HERE,
    status: 200,
    headers,
    body,
    route: 'book',
    depth: 0,
    attempt: 1,
    data: undefined,
  })
}

/** Everything that makes a URL of what is on a page. */
function harvest(page: Page): Harvest {
  const definition = {
    name: 'books',
    start: ['https://books.example/'],
    records: { book: z.object({ title: z.string(), image: z.string() }) },
    routes: {
      book: {
        match: '/**',
        follow: [{ links: 'a' }, { links: 'a', allow: ['/found?*'] }],
        record: { kind: 'book', key: 'title', fields: { title: 'h1', image: { select: 'img@src', as: 'url' } } },
        handler: (from: Page, out: { follow(href: string, options?: object): void }) => {
          out.follow(from.$('a').attr('href') ?? '')
          out.follow(from.$('a').attr('href') ?? '', { priority: 1 })
        },
      },
    },
  }
  const spider = resolveSpider(definition as unknown as SpiderDefinition, 'hash')
  return spider.routes.get('book')?.harvest(page) as Harvest
}

// Half-width katakana and the yen sign have no bytes of their own in ISO-2022-JP, so a page in it cannot contain them.
const pages = LINKS_IN_ENCODINGS.map(({ encoding, text, query }) => ({ encoding, text, query })).filter(
  ({ encoding }) => encoding !== 'ISO-2022-JP',
)

describe('links of a page that is not UTF-8', () => {
  it.each(pages)('have their query in its encoding: $encoding', ({ encoding, text, query }) => {
    // What the encoding lacks is an entity on the page.
    const page = inEncoding(`<h1>x</h1><a href="/found?q=${text}&amp;p=2">2</a><img src="/i?${text}">`, encoding)
    const { links, records } = harvest(page)
    expect(page.encoding).toBe(encoding)
    expect(new Set(links.map(({ href }) => href))).toEqual(new Set([`/found?q=${query}&p=2`]))
    expect(links).toHaveLength(4)
    expect(records[0]?.data).toEqual({ title: 'x', image: `https://books.example/i?${query}` })
  })

  it('are resolved against a base in the same encoding', () => {
    const page = inEncoding('<base href="/b/?é"><h1>x</h1><a href="">1</a><img src="?é">', 'windows-1252')
    const { links, records } = harvest(page)
    expect(links[0]?.href).toBe('https://books.example/b/?%E9')
    expect(records[0]?.data).toMatchObject({ image: 'https://books.example/b/?%E9' })
  })

  it('lead to the next page of a list', () => {
    const page = inEncoding('<a rel="next" href="/list?q=é&amp;page=2">2</a>', 'windows-1252')
    expect(page.pagination.next).toBe('https://books.example/list?q=%E9&page=2')
  })

  it('are encoded as declared even if the page itself is ASCII', () => {
    const page = inEncoding('<meta charset=euc-kr><h1>x</h1><a href="/found?q=&#xac80;">2</a>', 'EUC-KR', 'text/html')
    expect(harvest(page).links[0]?.href).toBe('/found?q=%B0%CB')
  })

  it('of UTF-8 stay as they are', () => {
    const page = inEncoding('<h1>x</h1><a href="/found?q=é">2</a>', 'utf-8')
    expect(harvest(page).links[0]?.href).toBe('/found?q=é')
  })
})

describe('what is not a page has no links', () => {
  it.each([
    ['text/plain', 0],
    ['application/json', 0],
    ['text/html', 4],
    ['application/xhtml+xml', 4],
    ['nonsense', 4],
  ])('%s', (type, count) => {
    const page = inEncoding('<h1>x</h1><a href="/found?q">2</a>', 'utf-8', type)
    // Two by the rules' selectors, two by the handler, which reads the markup itself.
    expect(harvest(page).links).toHaveLength(count === 0 ? 2 : count)
  })
})
