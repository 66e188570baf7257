import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { CheckReport } from '../../src/run/check/check-report.js'
import { tempDir } from '../support/cli.js'
import { shoal } from './cli.js'

vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('check')
afterAll(() => dir.remove())
const cwd = dir.path

const SPIDER = `import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'books',
  start: ['https://books.example/'],
  handlerTimeout: '300ms',
  records: { book: z.object({ title: z.string(), price: z.number() }) },
  routes: {
    listing: { match: '/', follow: [{ links: 'article a', route: 'book' }] },
    book: {
      match: '/book/*',
      record: { kind: 'book', fields: { title: 'h1', price: { select: '.price', as: 'number' } } },
      handler(page) {
        console.log('not part of the report')
        const word = page.$('main').text()
        if (word === 'loop') for (;;);
        if (word === 'end') process.exit(7)
        if (word === 'throw') throw new RangeError('no price')
        if (word === 'stray') return new Promise(() => setTimeout(() => { throw new Error('late') }))
      },
    },
  },
})
`

const page = (name: string, html: string, about: object) => {
  writeFileSync(join(cwd, 'fixtures', `${name}.html`), html)
  writeFileSync(join(cwd, 'fixtures', `${name}.html.json`), JSON.stringify({ spider: 'books', ...about }))
}
const url = (name: string) => `https://books.example/book/${name}`

async function check(...args: string[]) {
  const { code, out } = await shoal(['check', ...args, '--json'], { cwd })
  const { spiders } = JSON.parse(out) as { spiders: CheckReport[] }
  return { code, spiders, states: spiders.flatMap(({ fixtures }) => fixtures.map(({ file, state }) => [file, state])) }
}

beforeAll(() => {
  mkdirSync(join(cwd, 'fixtures', 'deep'), { recursive: true })
  writeFileSync(join(cwd, 'books.ts'), SPIDER)
})

describe('shoal check', () => {
  it('runs saved pages and says field by field what has changed, until that is accepted', async () => {
    const [title, price] = ['A', 5]
    const expected = { records: [{ kind: 'book', key: url('a'), data: { title, price: 6 } }] }
    page('a', '<h1>A</h1><p class=price>5</p>', { url: url('a'), expect: expected })
    page('deep/list', '<article><a href="/book/a">', { url: 'https://books.example/' })
    page('other', '', { spider: 'other', url: url('a') })
    writeFileSync(join(cwd, 'fixtures', 'README.md'), 'Pages of the shop.')

    const found = await check('books.ts')
    expect(found.code).toBe(9)
    expect(found.states).toEqual([
      ['fixtures/a.html', 'differs'],
      ['fixtures/deep/list.html', 'new'],
    ])
    expect(found.spiders[0]?.fixtures[0]?.differences).toEqual([
      { part: 'record', name: `book ${url('a')}`, field: 'price', expected: 6, now: 5 },
    ])
    expect(found.spiders[0]?.spider?.skipped).toEqual(['fixtures/README.md'])

    const shown = await shoal(['check', 'books.ts'], { cwd })
    expect(shown.out).toContain(`book ${url('a')}  price: 6 → 5`)
    expect(shown.out).toContain('2 saved pages: 1 without an expectation, 1 changed')
    expect(shown.err).toContain('not part of the report')

    expect(await check('books.ts', '--update')).toMatchObject({ code: 0 })
    const after = await check('books.ts')
    expect(after).toMatchObject({ code: 0 })
    expect(after.states.map(([, state]) => state)).toEqual(['ok', 'ok'])
    const sidecar = JSON.parse(readFileSync(join(cwd, 'fixtures', 'a.html.json'), 'utf8')) as { expect: unknown }
    expect(sidecar.expect).toEqual({
      records: [{ kind: 'book', key: url('a'), data: { title, price } }],
      rejected: [],
      links: [],
    })
  })

  it('goes through all pages, whatever the handler does on one of them', async () => {
    for (const word of ['end', 'loop', 'stray', 'throw'])
      page(`x-${word}`, `<main>${word}</main>`, { url: url(word), expect: {} })
    writeFileSync(join(cwd, 'fixtures', 'y.html'), '')
    writeFileSync(join(cwd, 'fixtures', 'y.html.json'), '{ "url": ')
    const { code, spiders } = await check('books.ts')
    expect(code).toBe(9)
    const failed = spiders[0]?.fixtures.filter(({ state }) => state === 'error') ?? []
    expect(failed.map(({ file, error }) => [file, error?.code])).toEqual([
      ['fixtures/x-end.html', 'handler_error'],
      ['fixtures/x-loop.html', 'handler_timeout'],
      ['fixtures/x-stray.html', 'handler_error'],
      ['fixtures/x-throw.html', 'handler_error'],
      ['fixtures/y.html', 'fixture_invalid'],
    ])
    const messages = failed.map(({ error }) => error?.message ?? '')
    expect(messages[0]).toMatch(/^books\.ts:18:\d+: .*process\.exit\(\)/)
    expect(messages[2]).toMatch(/^books\.ts:20:\d+: .*Error: late$/)
    expect(messages[3]).toBe('books.ts:19:37: RangeError: no price')
  })

  it('refuses what run would refuse, and names what has no effect; other spiders are checked all the same', async () => {
    writeFileSync(join(cwd, 'wrong.ts'), SPIDER.replace('follow:', 'folow:'))
    const idle = SPIDER.replace("name: 'books'", "name: 'idle'").replace(/handler\(page\) \{.*?\n {6}\},/s, '')
    writeFileSync(join(cwd, 'idle.ts'), idle.replace("route: 'book' }", "route: 'listing' }"))
    const { code, spiders } = await check('wrong.ts', 'idle.ts', 'none.ts')
    expect(code).toBe(3)
    expect(spiders.map(({ error }) => error?.code ?? null)).toEqual(['spider_invalid', null, 'spider_missing'])
    expect(spiders[0]?.error?.message).toContain("did you mean 'follow'?")
    expect(spiders[1]?.spider?.warnings).toEqual(['routes.book: no start URL and no rule leads to it'])
  })
})
