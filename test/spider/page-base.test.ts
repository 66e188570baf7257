import { describe, expect, it } from 'vitest'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'

type Handler = (page: Page, out: { follow(href: string, options?: object): void }) => void

const HERE = 'https://books.example/a/list'

function pageOf(body: Buffer, contentType: string): Page {
  return createPage({
    url: HERE,
    requestedUrl: HERE,
    status: 200,
    headers: { 'content-type': contentType },
    body,
    route: 'book',
    depth: 0,
    attempt: 1,
    data: undefined,
  })
}

function linksOf(page: Page, handler: Handler): Harvest['links'] {
  const definition = { name: 'books', start: [HERE], routes: { book: { match: '/**', handler } } }
  const spider = resolveSpider(definition as unknown as SpiderDefinition, 'hash')
  const harvest = spider.routes.get('book')?.harvest(page) as Harvest
  return harvest.links
}

/** A handler that follows every link of the page. */
function followed(html: string, contentType = 'text/html; charset=utf-8'): string[] {
  const links = linksOf(pageOf(Buffer.from(html), contentType), ({ $ }, out) => {
    for (const { attribs } of $('a[href]').toArray()) out.follow(attribs.href ?? '')
  })
  return links.map(({ href }) => href)
}

describe('links that a handler follows', () => {
  it('are resolved against the base element, as in a browser', () => {
    const links = ['b', '../b', '/b', '?b', '#b', '', '//c.example/b', 'https://c.example/b'].map(
      (href) => `<a href="${href}">x</a>`,
    )
    expect(followed(`<BASE href="/shop/x/?q">${links.join('')}`)).toEqual([
      'https://books.example/shop/x/b',
      'https://books.example/shop/b',
      'https://books.example/b',
      'https://books.example/shop/x/?b',
      'https://books.example/shop/x/?q#b',
      'https://books.example/shop/x/?q',
      'https://c.example/b',
      'https://c.example/b',
    ])
  })

  it('keep their options', () => {
    const page = pageOf(Buffer.from('<base href="/shop/">'), 'text/html')
    expect(linksOf(page, (_page, out) => out.follow('b', { priority: 3, route: 'book' }))).toEqual([
      { href: 'https://books.example/shop/b', priority: 3, route: 'book' },
    ])
  })

  it.each([
    ['no base', '<a href="b">x</a>'],
    ['a base in a comment', '<!-- <base href="/shop/"> --><a href="b">x</a>'],
    ['a base in a template', '<template><base href="/shop/"></template><a href="b">x</a>'],
    ['a base of svg', '<svg><base href="/shop/"/></svg><a href="b">x</a>'],
    ['a base without href', '<base target="_blank"><a href="b">x</a>'],
    ['another element', '<basefont size="3"><a href="b">x</a>'],
  ])('stay as they are on a page with %s', (_name, html) => {
    expect(followed(html)).toEqual(['b'])
  })

  it.each(['data:text/html,x', 'javascript:1', 'https://['])('ignore the base %s', (href) => {
    expect(followed(`<base href="${href}"><a href="b">x</a>`)).toEqual(['https://books.example/a/b'])
  })

  it('are left to the filter, which counts them, if they lead nowhere', () => {
    const links = '<a href="b">x</a><a href="https://c.example/">x</a>'
    expect(followed(`<base href="mailto:a@b.example">${links}`)).toEqual(['mailto:a@b.example', 'https://c.example/'])
    expect(followed('<base href="/shop/"><a href="//[">x</a>')).toEqual(['//['])
  })

  it('respect the base of XHTML', () => {
    const html = '<html xmlns="http://www.w3.org/1999/xhtml"><base href="/shop/"/><a href="b">x</a></html>'
    expect(followed(html, 'application/xhtml+xml')).toEqual(['https://books.example/shop/b'])
  })

  it('are encoded like the page, and so is the base', () => {
    const body = Buffer.from('<base href="/shop/?é"><a href="">x</a><a href="?é">x</a>', 'latin1')
    const links = linksOf(pageOf(body, 'text/html; charset=windows-1252'), ({ $ }, out) => {
      for (const { attribs } of $('a').toArray()) out.follow(attribs.href ?? '')
    })
    expect(links.map(({ href }) => href)).toEqual([
      'https://books.example/shop/?%E9',
      'https://books.example/shop/?%E9',
    ])
  })

  it('see the base that the page came with, whatever the handler does to the tree', () => {
    const page = pageOf(Buffer.from('<base href="/shop/">'), 'text/html')
    const links = linksOf(page, ({ $ }, out) => {
      $('base').attr('href', '/other/')
      out.follow('b')
    })
    expect(links).toEqual([{ href: 'https://books.example/shop/b' }])
  })

  it.each(['application/json', 'text/plain', 'application/pdf'])('need no text of a page that is %s', (type) => {
    const page = pageOf(Buffer.from('<base href="/shop/">'), type)
    Object.defineProperty(page, 'text', { get: () => expect.fail('it was decoded') })
    expect(linksOf(page, (_page, out) => out.follow('b'))).toEqual([{ href: 'b' }])
  })

  it('need no text of the page if they are absolute', () => {
    const page = pageOf(Buffer.from('<base href="/shop/">'), 'text/html')
    Object.defineProperty(page, 'text', { get: () => expect.fail('it was decoded') })
    expect(linksOf(page, (_page, out) => out.follow('https://c.example/'))).toEqual([{ href: 'https://c.example/' }])
  })
})
