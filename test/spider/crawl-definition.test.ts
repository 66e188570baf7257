import { load } from 'cheerio'
import { describe, expect, it } from 'vitest'
import { type CrawlOptions, crawlDefinition } from '../../src/spider/crawl-definition.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

const HTML = `<html><head><title> Shop </title><style>p { color: red }</style></head>
<body><h1>Hello</h1><script>var x</script><p>W<b>orld</b> ${'x'.repeat(6000)}</p><a href="/b">b</a><a href="b#c">c</a><a href="/b">b</a></body></html>`

const page = {
  url: 'https://books.example/a',
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  text: HTML,
  get $() {
    return load(HTML)
  },
} as unknown as Page

const spiderOf = (options: Partial<CrawlOptions>) =>
  spiderFromDefinition(crawlDefinition({ urls: ['https://books.example/a'], ...options }))

describe('a spider made of flags', () => {
  it('stores url, status, title, the first 5,000 characters of text and the links', async () => {
    const harvest = await spiderOf({}).routes.get('page')?.harvest(page)
    expect(harvest).toMatchObject({ rejected: [], links: [], records: [{ kind: 'page', key: page.url }] })
    const data = harvest?.records[0]?.data as { text: string }
    expect(data).toMatchObject({
      url: page.url,
      status: 200,
      title: 'Shop',
      links: ['https://books.example/b', 'https://books.example/b#c'],
    })
    expect(data.text.slice(0, 14)).toBe('Hello World xx')
    expect(data.text.length).toBe(5_000)
  })

  it('stores the links as a browser resolves them', async () => {
    const url = 'https://books.example/a/'
    const body = Buffer.from('<base href="/b/"><a href="?q=caf\xe9">1</a>', 'latin1')
    const headers = { 'content-type': 'text/html; charset=windows-1252' }
    const given = {
      url,
      requestedUrl: url,
      status: 200,
      headers,
      body,
      route: 'page',
      depth: 0,
      attempt: 1,
      data: null,
    }
    const harvest = await spiderOf({}).routes.get('page')?.harvest(createPage(given))
    expect(harvest?.records[0]?.data).toMatchObject({ links: ['https://books.example/b/?q=caf%E9'] })
  })

  it('does not read a picture as text', async () => {
    const picture = { ...page, headers: { 'content-type': 'image/png' }, $: null } as unknown as Page
    expect(await spiderOf({}).routes.get('page')?.harvest(picture)).toMatchObject({
      records: [{ data: { title: '', text: '', links: [] } }],
    })
  })

  it('stores the fields asked for under the URL of the page, and follows what a selector finds', async () => {
    const spider = spiderOf({ fields: { heading: 'h1' }, follow: 'a[href]' })
    const harvest = await spider.routes.get('page')?.harvest(page)
    expect(harvest?.records).toEqual([{ kind: 'page', key: page.url, data: { heading: 'Hello' } }])
    expect(harvest?.links.map(({ href }) => href)).toEqual(['/b', 'b#c', '/b'])
  })

  const made = (body: string, type = 'text/html; charset=utf-8') =>
    createPage({
      ...{ url: page.url, requestedUrl: page.url, status: 200, route: 'page', depth: 0, attempt: 1, data: null },
      headers: { 'content-type': type },
      body: Buffer.from(body),
    })
  const dataOf = async (options: Partial<CrawlOptions>, body: string, type?: string) => {
    const harvest = await spiderOf(options).routes.get('page')?.harvest(made(body, type))
    return harvest?.records.map(({ data }) => data as Record<string, unknown>)
  }

  it.each([
    ['<p>implied body', 'implied body'],
    ['<title>t</title>text', 'text'],
    ['<p>one<p>two<script>x</script>', 'one two'],
  ])('reads the text of %j', async (html, text) => {
    expect(await dataOf({}, html)).toMatchObject([{ text }])
  })

  it('reads the text of plain text, JSON and XML', async () => {
    expect(await dataOf({}, 'a\n b', 'text/plain;charset=utf-8')).toMatchObject([{ text: 'a b', links: [] }])
    expect(await dataOf({}, '{"a": 1}', 'application/json')).toMatchObject([{ text: '{"a": 1}' }])
    expect(await dataOf({}, '<rss><item><p>a</p>b</item></rss>', 'application/rss+xml')).toMatchObject([
      { text: 'a b' },
    ])
    const feed = '<rss><title>F</title><item><title>A</title><link>/a</link></item></rss>'
    expect(await dataOf({}, feed, 'application/rss+xml')).toMatchObject([{ text: 'F A /a' }])
  })

  it('says so when the text of a page is longer than what is stored of it', async () => {
    const exact = 'x'.repeat(5_000)
    for (const [type, before] of [
      ['text/html', '<p>'],
      ['text/plain', ''],
    ] as const) {
      const [whole = {}] = (await dataOf({}, `${before}${exact} \n `, type)) ?? []
      expect(whole).toMatchObject({ text: exact })
      expect(whole).not.toHaveProperty('truncated')
      for (const more of ['y', ' y', ' \u{1f600}', '\u{1f600}'])
        expect(await dataOf({}, before + exact + more, type)).toMatchObject([{ text: exact, truncated: true }])
    }
  })

  it('stores description and language', async () => {
    const html = '<html lang="pt-br"><meta name="Description" content=" Sobre  isto "><p>x'
    expect(await dataOf({}, html)).toMatchObject([{ description: 'Sobre isto', language: 'pt-BR' }])
  })

  it('keeps a page with more links than a record has room for', async () => {
    const links = Array.from({ length: 12_000 }, (_, n) => `<a href="/reference/${n}/entry.html#anchor">${n}</a>`)
    const [data = {}] = (await dataOf({}, links.join('\n'))) ?? []
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(256 * 1024)
    expect((data.links as string[]).length + Number(data.linksLeftOut)).toBe(12_000)
  })

  it('takes the title of the page, not that of a picture', async () => {
    expect(await dataOf({}, '<svg><title>icon</title></svg><p>x')).toMatchObject([{ title: '' }])
  })

  it('stores one record per element, or per value of a path', async () => {
    const html = '<li><h2>a</h2><li><h2>b</h2>'
    expect(await dataOf({ each: 'li', fields: { name: 'h2' } }, html)).toEqual([{ name: 'a' }, { name: 'b' }])
    const json = '{"items":[{"id":1},{"id":2},3]}'
    expect(await dataOf({ each: '$.items[*]' }, json, 'application/json')).toEqual([{ id: 1 }, { id: 2 }, { value: 3 }])
    expect(await dataOf({ each: '$.items[*]', key: 'id' }, json, 'application/json')).toHaveLength(2)
  })

  it('stores Markdown, and starts from sitemaps', async () => {
    expect(await dataOf({ format: 'markdown' }, '<h1>a</h1>')).toMatchObject([{ markdown: '# a\n' }])
    expect(spiderOf({ sitemap: true }).sources).toMatchObject([{ from: 'sitemap', urls: [] }])
  })

  it('stays on the hosts it starts from', () => {
    expect(spiderOf({ urls: ['https://books.example/', 'http://shop.example:8080/'] }).admit.hosts).toEqual([
      'books.example',
      'shop.example:8080',
    ])
  })

  it('takes the limits of the command line', () => {
    const spider = spiderOf({ pages: 50, maxDepth: 2, delay: '100ms', allowPrivate: ['127.0.0.1:*'] })
    expect(spider).toMatchObject({
      budget: { pages: 50 },
      limits: { delayMs: 100 },
      allowPrivate: ['127.0.0.1:*'],
      admit: { maxDepth: 2 },
    })
  })

  it.each([
    [{ urls: ['nonsense'] }, 'bad_url'],
    [{ urls: [] }, 'bad_url'],
    [{ delay: '5 parsecs' }, 'bad_duration'],
    [{ fields: { a: 'h1[' } }, 'bad_selector'],
    [{ follow: '>>' }, 'bad_selector'],
  ])('refuses %j', (options, code) => {
    expect(() => spiderOf(options)).toThrow(expect.objectContaining({ code }))
  })
})
