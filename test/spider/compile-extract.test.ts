import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import type { Page } from '../../src/spider/page.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'

function harvest(route: Record<string, unknown>, html: string, ruleLinks?: boolean, headers = {}): Harvest {
  const definition = {
    name: 'books',
    start: ['https://books.example/'],
    records: { book: z.object({ title: z.string(), price: z.number() }) },
    routes: { book: { match: '/**', ...route }, listing: { match: '/page' } },
  }
  const spider = resolveSpider(definition as unknown as SpiderDefinition, 'hash')
  const page = {
    url: 'https://books.example/a/b',
    headers: { 'content-type': 'text/html', ...headers },
    text: html,
  } as unknown as Page
  return spider.routes.get('book')?.harvest(page, ruleLinks) as Harvest
}

const hrefs = (follow: unknown, html: string, headers = {}) =>
  harvest({ follow }, html, undefined, headers).links.map(({ href }) => href)

describe('follow rules', () => {
  it('give links in the order of the rules, as they stand on the page', () => {
    const follow = [{ links: 'a.next', route: 'listing', priority: 7 }, { links: 'article a' }]
    expect(
      harvest({ follow }, '<article><a href="x?y#z">1</a></article><a class="next" href="/page">2</a>').links,
    ).toEqual([{ href: '/page', route: 'listing', priority: 7 }, { href: 'x?y#z' }])
  })

  it('are left out where nobody wants links, and change nothing else', () => {
    const fields = { title: 'a b', price: { select: 'i', as: 'number' }, cover: { select: 'img@src', as: 'url' } }
    const route = {
      follow: [{ links: 'a:not(.x)' }, { links: 'p > a' }],
      record: { kind: 'book', key: 'title', fields },
    }
    for (const html of [
      '<base href="/c/"><p><a href="x"><b>Tome</b></a><i>£2</i><img src="y.png">',
      '<base href="/c/"><table><a href="x"><b>Tome</a></b><tr><i>£2</i></table><img src="y.png"><a href="z">',
    ]) {
      const all = harvest(route, html)
      expect(all.links.length).toBeGreaterThan(0)
      expect(harvest(route, html, false)).toEqual({ ...all, links: [], linksByRule: undefined })
      expect([...all.records, ...all.rejected]).toHaveLength(1)
    }
  })

  it('allow and deny by the whole URL', () => {
    const html = '<a href="c">1</a><a href="/x/c">2</a><a href="../d">3</a><a href="http://[">4</a>'
    expect(hrefs([{ links: 'a', allow: '/a/**' }], html)).toEqual(['c', 'http://['])
    expect(hrefs([{ links: 'a', deny: ['/a/*', /\/x\//] }], html)).toEqual(['../d', 'http://['])
  })

  it('resolve against the base element', () => {
    const html = '<base href="/shop/"><a href="c">1</a><a href="https://other.example/">2</a>'
    expect(hrefs([{ links: 'a' }], html)).toEqual(['https://books.example/shop/c', 'https://other.example/'])
    expect(hrefs([{ links: 'a', allow: '/shop/*' }], html)).toEqual(['https://books.example/shop/c'])
  })

  it('leave out nofollow unless told otherwise', () => {
    const html = '<a rel="nofollow" href="a">1</a><a href="b">2</a>'
    expect(hrefs([{ links: 'a' }], html)).toEqual(['b'])
    expect(hrefs([{ links: 'a', nofollow: true }], html)).toEqual(['a', 'b'])
    const whole = `<meta name="robots" content="noindex, nofollow">${html}`
    expect(hrefs([{ links: 'a' }], whole)).toEqual([])
    expect(hrefs([{ links: 'a', nofollow: true }], whole)).toEqual(['a', 'b'])
  })

  it('take a meta refresh for a link', () => {
    expect(hrefs([{ links: 'a' }], '<meta http-equiv="refresh" content="0; url=/next">')).toEqual(['/next'])
    const several =
      '<meta http-equiv=refresh content=300><meta http-equiv=REFRESH content="5;/a"><meta http-equiv=refresh content="0;/b">'
    expect(hrefs([{ links: 'a' }], several)).toEqual(['/a', '/b'])
    const inNoscript = '<noscript><meta http-equiv="refresh" content="0; url=/plain"></noscript>'
    expect(hrefs([{ links: 'a' }], inNoscript)).toEqual(['/plain'])
  })

  it('take a Refresh header for a link, too, whatever base the page has', () => {
    const html = '<base href="/shop/"><meta http-equiv="refresh" content="0; url=b">'
    const seen = hrefs([{ links: 'a' }], html, { refresh: '0; url=a' })
    expect(seen).toEqual(['a', 'https://books.example/shop/b'])
    expect(hrefs([{ links: 'a' }], '<meta name=robots content=nofollow>', { refresh: '0; url=a' })).toEqual([])
  })
})

describe('fields', () => {
  const record = { kind: 'book', key: 'title', fields: { title: 'h1', price: { select: '.price', as: 'number' } } }

  it('make a record that its schema has checked', () => {
    expect(harvest({ record }, '<h1> A <b>tale</b></h1><p class="price">£3.50</p>')).toEqual({
      records: [{ kind: 'book', key: 'A tale', data: { title: 'A tale', price: 3.5 } }],
      rejected: [],
      links: [],
    })
  })

  it('that are missing are told apart', () => {
    expect(harvest({ record }, '<h1>A</h1>').rejected).toMatchObject([
      { kind: 'book', key: 'A', data: { title: 'A' }, issues: [{ field: 'price' }] },
    ])
    expect(harvest({ record }, '').rejected).toMatchObject([
      { key: '', issues: [{ field: 'title' }, { field: 'price' }] },
    ])
  })
})
