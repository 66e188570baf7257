import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { LINES_PER_PAGE, lineOf, MAX_LINE } from '../../src/spider/page-notes.js'
import { resolveSpider } from '../../src/spider/resolve.js'
import type { Harvest } from '../../src/spider/spider.js'

function pageWith(onLine?: (line: string) => void): Page {
  return createPage({
    url: 'https://shop.example/p/1',
    requestedUrl: 'https://shop.example/p/1',
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: Buffer.from('<h1>Lamp</h1>'),
    route: 'product',
    depth: 1,
    attempt: 1,
    data: undefined,
    onLine,
  })
}

type Handler = (page: Page) => void | Promise<void>

/** What a page gives with this handler. */
async function harvestOf(handler: Handler, page = pageWith()): Promise<Harvest> {
  const definition = {
    name: 'shop',
    start: ['https://shop.example/p/1'],
    records: { product: {} },
    routes: { product: { match: '/p/*', handler } },
  }
  const route = resolveSpider(definition as unknown as SpiderDefinition, 'hash').routes.get('product')
  if (route === undefined) throw new Error('it has the route')
  return route.harvest(page)
}

describe('page.log', () => {
  it('keeps what console.log would print', async () => {
    const { logs } = await harvestOf((page) => {
      page.log('price', 12.5, { stock: [1, 2] }, null)
      page.log('%s has %d', 'Lamp', 3)
      page.log()
    })
    expect(logs).toEqual(['price 12.5 { stock: [ 1, 2 ] } null', 'Lamp has 3', ''])
  })

  it('reports each line at once, also if the handler fails afterwards', async () => {
    const lines: string[] = []
    const failing = harvestOf(
      (page) => {
        page.log('before')
        throw new Error('broken')
      },
      pageWith((line) => lines.push(line)),
    )
    await expect(failing).rejects.toThrow('broken')
    expect(lines).toEqual(['before'])
  })

  it('can be taken out of the page', async () => {
    const { logs, counts } = await harvestOf(({ log, count }) => {
      log('taken')
      count('taken')
    })
    expect(logs).toEqual(['taken'])
    expect(counts).toEqual([{ name: 'taken', count: 1 }])
  })

  it('keeps the first lines of a handler that logs in a loop', async () => {
    const reported: string[] = []
    const page = pageWith((line) => reported.push(line))
    const { logs } = await harvestOf(({ log }) => {
      for (let n = 0; n < 100_000; n++) log(n)
    }, page)
    expect(logs).toHaveLength(LINES_PER_PAGE)
    expect(reported).toHaveLength(LINES_PER_PAGE)
  })

  it('leaves nothing on a page that uses neither', async () => {
    expect(await harvestOf(() => {})).toEqual({ records: [], rejected: [], links: [] })
  })
})

describe('a line of page.log', () => {
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }
  const throwing = () => {
    throw new Error('no')
  }
  const hostile: Record<string, unknown[]> = {
    'a revoked proxy': [revoked()],
    'a getter that throws': [
      {
        get price(): number {
          return throwing()
        },
      },
    ],
    'a proxy whose traps throw': [new Proxy({}, { get: throwing, ownKeys: throwing, getPrototypeOf: throwing })],
    'an inspect that throws': [{ [inspect.custom]: throwing }],
    'a toString that throws': ['%s', { toString: throwing, [Symbol.toPrimitive]: throwing }],
    'a symbol for %d': ['%d %i %f %j', Symbol('x'), Symbol('x'), Symbol('x'), 1n],
    'an error whose stack throws': [Object.defineProperty(new Error('x'), 'stack', { get: throwing })],
    'a circle': [
      (() => {
        const a: { a?: unknown } = {}
        a.a = a
        return a
      })(),
    ],
    'an object without a prototype': [Object.create(null)],
    'a detached buffer': [structuredClone(new ArrayBuffer(8), {})],
  }
  it.each(Object.entries(hostile))('never throws on %s', (_name, values) => {
    expect(typeof lineOf(values)).toBe('string')
  })

  it('is short, however long the value is', () => {
    const long = [
      lineOf(['x'.repeat(10_000_000)]),
      lineOf(['%s', 'x'.repeat(10_000_000)]),
      lineOf([{ body: 'x'.repeat(10_000_000) }]),
      lineOf([Array.from({ length: 1_000_000 }, (_, n) => n)]),
      lineOf(Array.from({ length: 100_000 }, (_, n) => n)),
      lineOf([Buffer.alloc(10_000_000)]),
    ]
    for (const line of long) expect(line.length).toBeLessThan(MAX_LINE + 40)
    expect(long[0]).toMatch(/… \(10000000 characters\)$/)
  })
})

describe('page.count', () => {
  const countsOf = async (handler: Handler) => (await harvestOf(handler)).counts

  it('adds up by name', async () => {
    expect(
      await countsOf((page) => {
        page.count('sold out')
        page.count('variants', 3)
        page.count('sold out')
        page.count('none', 0)
      }),
    ).toEqual([
      { name: 'sold out', count: 2 },
      { name: 'variants', count: 3 },
      { name: 'none', count: 0 },
    ])
  })

  it('gives what looks the same one name, of bounded length', async () => {
    expect(
      await countsOf((page) => {
        for (const name of ['sold out', ' sold\n out ', 'sold\u200b out', 'sold\tout']) page.count(name)
        page.count('x'.repeat(5_000_000))
        page.count(' \n')
      }),
    ).toEqual([
      { name: 'sold out', count: 4 },
      { name: 'x'.repeat(64), count: 1 },
      { name: '(empty)', count: 1 },
    ])
  })

  it('adds names of which there are too many to one', async () => {
    const counts = await countsOf((page) => {
      for (let n = 0; n < 1_000; n++) page.count(`https://shop.example/${n}`)
    })
    expect(counts).toHaveLength(101)
    expect(counts?.at(-1)).toEqual({ name: '(other)', count: 900 })
  })

  it.each([
    [undefined, 1],
    [3, 1],
    ['x', -1],
    ['x', 1.5],
    ['x', Number.NaN],
    ['x', Number.POSITIVE_INFINITY],
    ['x', '1'],
    ['x', null],
  ])('refuses (%s, %s)', async (name, by) => {
    const counting = harvestOf((page) => page.count(name as string, by as number))
    await expect(counting).rejects.toMatchObject({
      code: 'handler_error',
      message: expect.stringMatching(/page\.count: /),
    })
  })

  it('refuses a count that comes after the handler has ended, which would be missing from the crawl', async () => {
    let count: Page['count'] = () => {}
    await harvestOf((page) => {
      count = page.count
      page.count('in time')
    })
    expect(() => count('late')).toThrow('page.count: was used after the handler had ended')
  })
})
