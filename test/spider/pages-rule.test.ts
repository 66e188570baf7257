import { describe, expect, it } from 'vitest'
import { defineSpider } from '../../src/spider/definition.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

function page(html: string, url = 'https://shop.example/list'): Page {
  const body = new TextEncoder().encode(html)
  const headers = { 'content-type': 'text/html; charset=utf-8' }
  return createPage({
    url,
    requestedUrl: url,
    status: 200,
    headers,
    body,
    route: 'list',
    depth: 0,
    attempt: 1,
    data: null,
  })
}

function spider(pages: true | { max?: number; route?: 'list' | 'other' }) {
  return spiderFromDefinition(
    defineSpider({
      name: 's',
      start: ['https://shop.example/list'],
      routes: { list: { match: '/list', pages }, other: { match: '/other' } },
    }),
  )
}

const linksOf = async (html: string, pages: Parameters<typeof spider>[0], url?: string) =>
  (await spider(pages).routes.get('list')?.harvest(page(html, url)))?.links

const COUNTED = '<p>Page 1 of 4</p><a rel="next" href="?page=2">Next</a>'

describe('a route with pages', () => {
  it('queues all of them from the first, as deep as the page itself', async () => {
    expect(await linksOf(COUNTED, true)).toEqual(
      [2, 3, 4].map((n) => ({ href: `https://shop.example/list?page=${n}`, route: 'list', sameDepth: true })),
    )
  })

  it('goes no further than told, nor does an endless chain of next pages', async () => {
    expect(await linksOf(COUNTED, { max: 3, route: 'other' })).toHaveLength(2)
    const next = '<a rel="next" href="?page=1001">Next</a>'
    expect(await linksOf(next, true, 'https://shop.example/list?page=1000')).toEqual([])
    expect(await linksOf('<a rel="next" href="?after=x">Next</a>', true)).toEqual([
      { href: 'https://shop.example/list?after=x', route: 'list' },
    ])
  })

  it('follows nothing where the page asks for that', async () => {
    expect(await linksOf(`<meta name="ROBOTS" content="noindex, nofollow">${COUNTED}`, true)).toEqual([])
  })

  it('is for handlers too', () => {
    expect(page(COUNTED).pagination).toMatchObject({ current: 1, count: 4, next: 'https://shop.example/list?page=2' })
  })

  it('names a route that exists', () => {
    expect(() => spider({ route: 'lst' as 'list' })).toThrow(/routes\.list\.pages\.route: there is no route 'lst'/)
  })
})
