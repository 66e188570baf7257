import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli, startCli, tempDir } from '../support/cli.js'
import { startProxy, type TestProxy } from '../support/proxy-server.js'

const BOOK = `<!doctype html><html lang="en"><head><title>Tome 1</title></head><body>
<article class="product_page"><h1>Tome 1</h1><p class="price_color">£12.50</p><p class="availability">ask us</p></article>
<ul class="related"><li><a href="/book/2">2</a></li><li><a href="/book/3" rel="nofollow">3</a></li>
<li><a href="https://elsewhere.example/">E</a></li></ul></body></html>`

const dir = tempDir('try')
let origin = ''
let proxy: TestProxy
/** Paths with the address that asked for them. */
const asked: string[] = []
const site = createServer((request, answer) => {
  asked.push(`${request.url} ${request.socket.remoteAddress?.replace('::ffff:', '')}`)
  const html = { 'content-type': 'text/html; charset=utf-8' }
  if (request.url === '/robots.txt') answer.writeHead(404).end()
  else if (request.url === '/old') answer.writeHead(301, { location: '/book/1' }).end()
  else if (request.url === '/missing') answer.writeHead(404, html).end('<h1>Not here</h1>')
  else if (request.url === '/app') answer.writeHead(200, html).end('<div id="root"></div><script src="/a.js"></script>')
  else if (request.url === '/api')
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[{"name":"Tome 1"}]}')
  else answer.writeHead(200, html).end(BOOK)
})

beforeAll(async () => {
  site.listen(0, '127.0.0.1')
  await once(site, 'listening')
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  proxy = await startProxy({ proxyAddress: '127.0.0.9' })
})

afterAll(async () => {
  site.closeAllConnections()
  site.close()
  await proxy.stop()
  dir.remove()
})

/** A spider of one or more routes; `more` goes into the definition. */
function spider(name: string, routes: string, more = '', allowed = ''): string {
  const file = `${name}.ts`
  const text = `import { defineSpider } from 'shoal'
import { z } from 'zod'
export default defineSpider({
  name: '${name}', start: ['${origin}/'], allowPrivate: ['${new URL(origin).host}'${allowed}], pace: { delay: 0 }, ${more}
  records: { book: z.object({ title: z.string(), price: z.number(), stock: z.number() }), any: {} },
  routes: { ${routes} },
})`
  writeFileSync(join(dir.path, file), text)
  return file
}

const FIELDS = `fields: { title: 'h1', price: { select: '.price-color', as: 'number' }, stock: { select: '.availability', as: 'number' } }`
const RULES = `book: { match: '/book/*', follow: [{ links: '.related a' }, { links: '.pagr a' }], record: { kind: 'book', key: 'title', ${FIELDS} } },
  old: { match: '/**', record: { kind: 'any', fields: { title: 'h1' } } }`

const inDir = (...args: string[]) => runCli(args, { cwd: dir.path })
const tried = async (...args: string[]) => {
  const { code, stdout, stderr } = await inDir('try', ...args, '--json')
  return { code, stderr, page: JSON.parse(stdout) as Record<string, never> & { failure: { code: string } | null } }
}

describe('the report', () => {
  it('has one line per rule, with the nearest match, the text that was not converted, and the reason of the schema', async () => {
    const { code, stdout, stderr } = await inDir('try', spider('report', RULES), `${origin}/book/1`)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('route book (matches /book/*)')
    expect(stdout).toMatch(/from the network · not rendered/)
    expect(stdout).toMatch(/✓ title {2}h1 +1 {2}Tome 1/)
    expect(stdout).toMatch(
      /✗ price {2}\.price-color \(number\) +0 {2}no match\n {6}no element has the class `price-color`/,
    )
    expect(stdout).toContain('did you mean `.price_color`? 1 match')
    expect(stdout).toContain("matched 'ask us': no number in it")
    expect(stdout).toContain('rejected: Invalid input: expected number, received null')
    expect(stdout).toMatch(/✓ \.related a +3 {2}1 accepted, rejected: 1 nofollow, 1 out_of_scope/)
    expect(stdout).toMatch(/✗ \.pagr a +0 {2}no match/)
  })

  it('of a route that the spider does not have is a mistake on the command line', async () => {
    const { code, stdout, stderr } = await inDir('try', spider('routes', RULES), `${origin}/book/1`, '--route', 'boook')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(
      /^error usage: --route: the spider has no route 'boook'; it has book, old\n {2}→ Pass one of them/,
    )
  })

  it('is data with --json', async () => {
    const { page } = await tried(spider('json', RULES), `${origin}/old`, '--route', 'book')
    expect(page).toMatchObject({
      ...{
        url: `${origin}/old`,
        finalUrl: `${origin}/book/1`,
        status: 200,
        route: 'book',
        pattern: null,
        rendered: null,
      },
      redirects: [{ url: `${origin}/old`, status: 301 }],
      source: { kind: 'network', proxy: null },
      rules: {
        fields: [
          { name: 'title', selector: 'h1', matches: 1, value: 'Tome 1', problem: null },
          {
            name: 'price',
            matches: 0,
            problem: { code: 'no_match', suggestion: '.price_color', suggestionMatches: 1 },
          },
          { name: 'stock', matches: 1, value: null, problem: { code: 'not_converted' } },
        ],
        follow: [
          { matches: 3, accepted: 1, rejected: { nofollow: 1, out_of_scope: 1 } },
          { matches: 0, accepted: 0, problem: { code: 'no_match' } },
        ],
      },
      rejected: [{ kind: 'book', key: 'Tome 1', issues: [{ field: 'price' }, { field: 'stock', value: null }] }],
      failure: null,
    })
  })

  it('says that there is only a handler, and shows what it logs and prints', async () => {
    const handler = `handler(page, out) { page.log('seen', page.$('h1').text()); console.log('printed'); page.count('pages'); out.record('any', 'a', { data: page.data }) }`
    const file = spider('handler', `book: { match: '/**', ${handler} }`)
    const { code, stdout } = await inDir('try', file, `${origin}/book/1`, '--data', '{"n":1}')
    expect(code).toBe(0)
    expect(stdout).toContain('This route has no rules, only a handler')
    expect(stdout).toMatch(/2 lines logged\n {2}seen Tome 1\n {2}printed\n/)
    expect(stdout).toContain('"n": 1')
    const { page } = await tried(file, `${origin}/book/1`)
    expect(page).toMatchObject({ logs: ['seen Tome 1', 'printed'], counts: [{ name: 'pages', count: 1 }] })
  })

  it('says that scripts build the page', async () => {
    const { stdout } = await inDir('try', spider('app', RULES), `${origin}/app`)
    expect(stdout).toContain('Scripts build this page (empty app): try again with --rendered.')
  })
})

describe('a page that is at hand', () => {
  it('is saved, and read without a request', async () => {
    const file = spider('saved', RULES)
    const first = await inDir('try', file, `${origin}/book/1`, '--save', 'pages/book.html')
    expect(first.stdout).toMatch(/saved pages\/book\.html\nsaved pages\/book\.html\.json/)
    expect(readFileSync(join(dir.path, 'pages/book.html'), 'utf8')).toBe(BOOK)
    expect(JSON.parse(readFileSync(join(dir.path, 'pages/book.html.json'), 'utf8'))).toMatchObject({
      ...{ spider: 'saved', url: `${origin}/book/1`, route: 'book', status: 200, rendered: false },
    })
    expect((await inDir('try', file, `${origin}/book/1`, '--save', 'pages/book.html')).stderr).toContain(
      'fixture_exists',
    )
    const before = asked.length
    const { code, page } = await tried(file, '--html', 'pages/book.html')
    expect(code).toBe(0)
    expect(page).toMatchObject({
      url: `${origin}/book/1`,
      route: 'book',
      source: { kind: 'file', file: 'pages/book.html' },
    })
    expect(asked).toHaveLength(before)
    expect((await inDir('try', file, '--html', 'none.html', `${origin}/`)).stderr).toContain(
      'none.html: there is no such file',
    )
  })
})

describe('as run does it', () => {
  const PROXIED = `proxy: 'office',`

  it('goes out through the proxy of the spider, robots.txt included', async () => {
    writeFileSync(join(dir.path, 'pools.json'), JSON.stringify({ office: { entries: [proxy.url] } }))
    const before = asked.length
    const { code, page, stderr } = await tried(
      spider('proxied', RULES, PROXIED),
      `${origin}/book/1`,
      '--proxies',
      'pools.json',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(page).toMatchObject({ source: { kind: 'network', proxy: expect.stringContaining('office') } })
    expect(asked.slice(before)).toEqual(['/robots.txt 127.0.0.9', '/book/1 127.0.0.9'])
  })

  it('refuses like run when the pool is missing, and sends nothing', async () => {
    const before = asked.length
    const file = spider('unproxied', RULES, PROXIED)
    const results = await Promise.all([
      inDir('try', file, `${origin}/book/1`),
      inDir('run', file, '--queue', 'memory:'),
    ])
    for (const { code, stderr } of results) {
      expect(code).toBe(3)
      expect(stderr).toContain("error proxy_unknown: the spider uses the proxy pool 'office', but there is none")
    }
    expect(asked).toHaveLength(before)
  })

  it('refuses a spider whose secret is not set', async () => {
    const file = spider('secret', RULES, `secrets: { token: { env: 'TRY_TOKEN', origins: ['${origin}'] } },`)
    expect((await inDir('try', file, `${origin}/book/1`)).stderr).toContain('secret_missing')
  })
})

describe('a page that cannot be fetched', () => {
  it('is reported with the error of its site, not with that of robots.txt', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as AddressInfo
    free.close()
    await once(free, 'close')
    const hosts = [new URL(origin).host, `127.0.0.1:${port}`, 'shoal-nowhere.invalid']
    const file = spider('closed', RULES, `scope: { hosts: ${JSON.stringify(hosts)} },`, `, '127.0.0.1:${port}'`)
    const { code, stderr, stdout } = await inDir('try', file, `http://127.0.0.1:${port}/`)
    expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
    expect(stderr).toMatch(/^error connect_error: .*ECONNREFUSED/)
    expect(stderr).not.toContain('robots')
    const unknown = await inDir('try', file, 'http://shoal-nowhere.invalid/')
    expect(unknown.code).toBe(6)
    expect(unknown.stderr).toMatch(/^error dns_/)
  })

  it('is examined all the same if the server sent one', async () => {
    const { code, stdout, stderr } = await inDir('try', spider('missing', RULES), `${origin}/missing`)
    expect(code).toBe(6)
    expect(stdout).toMatch(/^404 {2}.*\/missing/)
    expect(stdout).toContain('Not here')
    expect(stderr).toMatch(/^error http_error: the server answered 404/)
  })
})

describe("the spider's code", () => {
  it.concurrent.each<[what: string, body: string, code: string, says: RegExp]>([
    [
      'loops',
      'for (;;);',
      'handler_timeout',
      /loops\.ts:\d+:\d+: .* blocked its thread for longer than handlerTimeout \(300 ms\)/,
    ],
    ['exits', 'process.exit(0)', 'handler_error', /exits\.ts:\d+:\d+.*the spider called process\.exit\(\)/],
    ['waits', 'await new Promise(() => {})', 'handler_timeout', /took longer than 300 ms/],
    [
      'rejects',
      "Promise.reject(new Error('lost')); await new Promise((r) => setTimeout(r, 50))",
      'handler_error',
      /lost/,
    ],
    ['throws', "page.log('before'); throw new Error('plain')", 'handler_error', /throws\.ts:\d+:\d+.*plain/],
    ['grows', 'const all = []; for (;;) all.push(new Array(1e6).fill(all.length))', 'poison', /memory/],
  ])('that %s ends, with the page and exit code 3', async (name, body, code, says) => {
    const timeout = name === 'grows' ? '60s' : '300ms'
    const file = spider(
      name,
      `book: { match: '/**', handlerTimeout: '${timeout}', async handler(page, out) { ${body} } }`,
    )
    const options = { cwd: dir.path, ...(name === 'grows' && { env: { NODE_OPTIONS: '--max-old-space-size=120' } }) }
    const result = await startCli(['try', file, `${origin}/book/1`], options).result
    expect(result.code).toBe(3)
    expect(result.stdout).toContain(`200  ${origin}/book/1`)
    expect(result.stdout).toContain(name === 'throws' ? 'before' : 'route book')
    expect(result.stderr).toMatch(new RegExp(`^error ${code}: `))
    expect(result.stderr).toMatch(says)
  })
})

describe('--watch', () => {
  it('tries again from the cached page when the spider or one of its imports changes, and outlives errors', async () => {
    writeFileSync(join(dir.path, 'price.ts'), "export const PRICE = '.price-color'\n")
    const file = spider('watched', RULES.replace("'.price-color'", 'PRICE'))
    const path = join(dir.path, file)
    writeFileSync(path, `import { PRICE } from './price'\n${readFileSync(path, 'utf8')}`)
    const { child, result } = startCli(
      ['try', file, `${origin}/book/1`, '--watch', '--json', '--cache-dir', 'watch-cache'],
      { cwd: dir.path },
    )
    const lines: string[] = []
    let errors = ''
    child.stdout?.on('data', (text: string) => lines.push(...text.trimEnd().split('\n')))
    child.stderr?.on('data', (text: string) => {
      errors += text
    })
    const until = (isDone: () => boolean) => expect.poll(isDone, { timeout: 20_000, interval: 50 }).toBe(true)
    const priceOf = (line = '{}') =>
      (JSON.parse(line) as { rules?: { fields: { value?: number }[] } }).rules?.fields[1]?.value
    await until(() => lines.length === 1)
    const before = asked.length
    expect(priceOf(lines[0])).toBeUndefined()
    writeFileSync(join(dir.path, 'price.ts'), "export const PRICE = '.price_color'\n")
    await until(() => lines.length === 2)
    expect(priceOf(lines[1])).toBe(12.5)
    const good = readFileSync(path, 'utf8')
    writeFileSync(path, 'export default {{')
    await until(() => errors.includes('spider_syntax'))
    writeFileSync(path, good)
    await until(() => lines.length === 3)
    expect(priceOf(lines[2])).toBe(12.5)
    expect(asked).toHaveLength(before)
    expect(existsSync(join(dir.path, 'watch-cache'))).toBe(true)
    child.kill('SIGINT')
    expect((await result).code).toBe(130)
  })
})
