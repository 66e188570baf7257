import { describe, expect, it } from 'vitest'
import type { SeedNotes } from '../../src/coordinator/seed-source.js'
import { type ListingOptions, listings } from '../../src/discovery/listings.js'
import { createSpool } from '../../src/discovery/spool.js'
import { ShoalError } from '../../src/errors.js'

const A = 'https://a.example'
const urlset = (...pages: string[]) =>
  `<urlset>${pages.map((page) => `<url><loc>${A}${page}</loc></url>`).join('')}</urlset>`
const index = (...files: string[]) =>
  `<sitemapindex>${files.map((file) => `<sitemap><loc>${file}</loc></sitemap>`).join('')}</sitemapindex>`

function world(
  files: Readonly<Record<string, string>>,
  settings: Partial<ListingOptions> = {},
  kept = new Map<string, number>(),
  closed: readonly string[] = [],
) {
  const fetched: string[] = []
  const problems: string[] = []
  let open = 0
  const notes: SeedNotes = {
    get: async (name) => kept.get(name) ?? 0,
    set: async (name, value) => void kept.set(name, value),
  }
  const options: ListingOptions = { urls: [`${A}/sitemap.xml`], sites: [], since: null, ...settings }
  const group = listings(options, {
    openFetcher: async () => ({
      async get(url) {
        fetched.push(url)
        const text = files[url]
        if (closed.some((origin) => url.startsWith(origin))) throw new ShoalError('connect_error', 'ECONNREFUSED')
        if (text === undefined) throw new ShoalError('http_error', 'the server answered 404')
        const spool = createSpool()
        spool.write(Buffer.from(text))
        open++
        return { url, contentEncoding: '', spool: { ...spool, close: () => void open-- } }
      },
      close: async () => {},
    }),
    inScope: (url) => url.startsWith(A),
    maxUrlLength: 100,
    now: () => Date.parse('2026-11-15'),
    onProblem: (url, { code }) => problems.push(`${code} ${url}`),
  })
  /** All seeds, or as many as `most`, as after a kill. */
  const read = async (most = Number.POSITIVE_INFINITY) => {
    const seeds: unknown[] = []
    const names: string[] = []
    for await (const source of group.sources(notes)) {
      names.push(source.name)
      for await (const seed of source.entries()) if (seeds.push(seed) >= most) return { seeds, names }
    }
    return { seeds, names }
  }
  return { read, fetched, problems, openSpools: () => open }
}

describe('sitemaps', () => {
  it('follows an index, and indexes in it, each file once', async () => {
    const { read, fetched, problems, openSpools } = world({
      [`${A}/sitemap.xml`]: index(`${A}/1.xml`, `${A}/sitemap.xml`, `${A}/more.xml`, `${A}/1.xml`),
      [`${A}/more.xml`]: index(`${A}/2.xml`, `${A}/sitemap.xml`),
      [`${A}/1.xml`]: urlset('/a', '/b'),
      [`${A}/2.xml`]: urlset('/c'),
    })
    expect((await read()).seeds).toEqual([`${A}/a`, `${A}/b`, `${A}/c`])
    expect(fetched).toEqual(['sitemap', '1', 'more', '2'].map((name) => `${A}/${name}.xml`))
    expect([problems, openSpools()]).toEqual([[], 0])
    // Read to the end: nothing is fetched again.
    expect((await read()).seeds).toEqual([])
    expect(fetched).toHaveLength(4)
  })

  it('goes no deeper than four levels', async () => {
    const deep = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [n === 0 ? `${A}/sitemap.xml` : `${A}/${n}.xml`, index(`${A}/${n + 1}.xml`)]),
    )
    const { read, fetched, problems } = world(deep)
    expect((await read()).seeds).toEqual([])
    expect(fetched).toHaveLength(4)
    expect(problems).toEqual([`bad_listing ${A}/4.xml`])
  })

  it('passes over files that are gone, are pages, or lie on a foreign host, and tries them again next time', async () => {
    const { read, fetched, problems } = world({
      [`${A}/sitemap.xml`]: index(`${A}/gone.xml`, `${A}/page`, 'https://b.example/s.xml', 'http://[no', `${A}/1.xml`),
      [`${A}/page`]: '<!doctype html><html></html>',
      [`${A}/1.xml`]: urlset('/a'),
    })
    expect((await read()).seeds).toEqual([`${A}/a`])
    expect(problems).toEqual([
      `http_error ${A}/gone.xml`,
      `bad_listing ${A}/page`,
      'out_of_scope https://b.example/s.xml',
      'bad_url http://[no',
    ])
    fetched.length = 0
    await read()
    expect(fetched).toEqual([`${A}/sitemap.xml`, `${A}/gone.xml`, `${A}/page`])
  })

  it('must have what a person named', async () => {
    await expect(world({}).read()).rejects.toMatchObject({
      code: 'seeds_unreadable',
      message: `${A}/sitemap.xml: the server answered 404`,
    })
    await expect(world({ [`${A}/sitemap.xml`]: '<html></html>' }).read()).rejects.toMatchObject({
      code: 'seeds_unreadable',
    })
  })

  it('finds them by robots.txt, or at the usual place', async () => {
    const found = {
      [`${A}/robots.txt`]: `User-agent: *\nDisallow: /x\nSitemap: ${A}/one.xml\nsitemap: /two.xml`,
      [`${A}/one.xml`]: urlset('/a'),
      [`${A}/two.xml`]: urlset('/b'),
      'https://c.example/sitemap.xml': urlset('/c'),
    }
    const { read, problems } = world(found, { urls: [], sites: [A, 'https://c.example', 'https://d.example'] })
    expect((await read()).seeds).toEqual([`${A}/a`, `${A}/b`, `${A}/c`])
    expect(problems).toEqual(['http_error https://d.example/sitemap.xml'])
  })

  it('tries http where https is closed, if nobody said which it is', async () => {
    const found = { 'http://c.example/robots.txt': 'Sitemap: /one.xml', 'http://c.example/one.xml': urlset('/c') }
    const closed = ['https://c.example', 'https://e.example', 'http://e.example']
    const { read, problems, fetched } = world(
      found,
      { urls: [], sites: ['c.example', 'e.example', A] },
      new Map(),
      closed,
    )
    expect((await read()).seeds).toEqual([`${A}/c`])
    expect(problems).toEqual(['connect_error https://e.example/sitemap.xml', `http_error ${A}/sitemap.xml`])
    expect(fetched.filter((url) => url.includes('c.example'))).toEqual([
      ...['https://c.example/robots.txt', 'http://c.example/robots.txt', 'http://c.example/one.xml'],
    ])
  })

  it('leaves out what did not change, pages and whole files', async () => {
    const dated = (kind: string, path: string, lastmod: string) =>
      `<${kind}><loc>${A}${path}</loc>${lastmod === '' ? '' : `<lastmod>${lastmod}</lastmod>`}</${kind}>`
    const files = {
      [`${A}/sitemap.xml`]: `<sitemapindex>${dated('sitemap', '/old.xml', '2026-01-01')}${dated('sitemap', '/new.xml', '2026-11-14')}</sitemapindex>`,
      [`${A}/new.xml`]: `<urlset>${dated('url', '/old', '2026-11-01')}${dated('url', '/new', '2026-11-14')}${dated('url', '/undated', '')}</urlset>`,
    }
    for (const since of [{ agoMs: 7 * 86_400_000 }, { at: Date.parse('2026-11-08') }]) {
      const { read, fetched } = world(files, { since })
      expect((await read()).seeds).toEqual([`${A}/new`, `${A}/undated`])
      expect(fetched).not.toContain(`${A}/old.xml`)
    }
  })

  it('reads a file again after a kill under the same name, and under another when it changed', async () => {
    const files: Record<string, string> = { [`${A}/sitemap.xml`]: urlset('/a', '/b', '/c') }
    const { read, openSpools } = world(files, { route: 'page' })
    const { seeds, names } = await read(2)
    expect(seeds).toEqual([
      { url: `${A}/a`, route: 'page' },
      { url: `${A}/b`, route: 'page' },
    ])
    expect(openSpools()).toBe(0)
    expect((await world(files, { route: 'page' }).read()).names).toEqual(names)
    files[`${A}/sitemap.xml`] = urlset('/a', '/new', '/b', '/c')
    const changed = await read()
    expect(changed.names).not.toEqual(names)
    expect(changed.seeds).toHaveLength(4)
  })

  it('reads a file once more for another source that takes other pages of it, or for another route', async () => {
    const files = { [`${A}/sitemap.xml`]: urlset('/a') }
    const kept = new Map<string, number>()
    const names: string[] = []
    for (const settings of [{}, { route: 'page' }, { since: { at: 1 } }, { since: { agoMs: 1 } }]) {
      const told = await world(files, settings, kept).read()
      expect(told.seeds).toHaveLength(1)
      names.push(...told.names)
    }
    expect(new Set(names).size).toBe(4)
  })

  it('is not filled by an index of long or bad URLs, nor the log', async () => {
    const many = Array.from({ length: 500 }, (_, n) => `${A}/${n}/${'x'.repeat(n < 250 ? 100 : 10)}`)
    const { read, fetched, problems } = world({ [`${A}/sitemap.xml`]: index(...many) })
    expect((await read()).seeds).toEqual([])
    expect(fetched).toHaveLength(251)
    expect(problems).toHaveLength(21)
    expect(problems[0]).toMatch(/^url_too_long /)
  })

  it('keeps what came before a broken place', async () => {
    const broken = `${urlset('/a').replace('</urlset>', '')}<!--${'x'.repeat(2_000_000)}`
    const { read, problems } = world({ [`${A}/sitemap.xml`]: broken })
    expect((await read()).seeds).toEqual([`${A}/a`])
    expect(problems).toEqual([`bad_listing ${A}/sitemap.xml`])
  })
})
