import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import { createShop } from '../../src/demo/shop.js'
import { askToDrain } from '../../src/observe/drain.js'
import { loadSpider } from '../../src/spider/load.js'
import { createAdmitter } from '../../src/url/admit.js'
import { openBackends } from '../../src/wire/backends.js'
import { shoal, startShoal } from './cli.js'

const OPTIONS = { seed: 7, pages: 30, bytes: 1_000, faults: 1 }
const dir = mkdtempSync(join(tmpdir(), 'shoal-run-'))
let shop: RunningShop
let origin: string

beforeAll(async () => {
  shop = await startShop({ ...OPTIONS, port: 0, accessLog: join(dir, 'access.log') })
  origin = `http://127.0.0.1:${shop.port}`
  writeSpider('shop', {})
})

afterAll(() => shop.close())

function writeSpider(
  name: string,
  { delay = '5ms', start = `${origin}/` }: { delay?: string; start?: string },
): string {
  const file = join(dir, `${name}.ts`)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: '${name}', start: ['${start}'], allowPrivate: ['127.0.0.1:*'], pace: { delay: '${delay}', concurrency: 4 },
       retries: { max: 3, backoff: ['50ms'] },
       records: { product: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
       routes: {
         listing: { match: ['/', '/catalogue/page-*'], follow: [{ links: 'a' }] },
         product: { match: ['/catalogue/*/index.html', '/old/*'], record: { kind: 'product', key: 'sku',
           fields: { title: 'h1', price: { select: '.price', as: 'number' }, sku: '.sku' } } },
       },
     })`,
  )
  return file
}

const inDir = (...args: string[]) => shoal(args, { cwd: dir })
const lastJson = (text: string) => JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as Record<string, unknown>

describe('run', () => {
  it('ends with one JSON line, and with every product of the site', async () => {
    const { code, out, err } = await inDir('run', 'shop.ts', '--json')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out.trimEnd().split('\n')).toHaveLength(1)
    const summary = lastJson(out)
    expect(Object.keys(summary).slice(0, 8)).toEqual('crawl state pages records failed dead retried seconds'.split(' '))
    const products = createShop(OPTIONS)
      .siteMap()
      .filter((page) => page.kind === 'product' && !page.alwaysFails)
    expect(summary).toMatchObject({ state: 'finished', records: products.length })
    expect((await inDir('export')).out.trimEnd().split('\n')).toHaveLength(products.length)
  })

  it('sums up for people, with the next commands, and remembers the spider for explain', async () => {
    const { code, out, err } = await inDir('run', 'shop.ts')
    expect(code).toBe(0)
    expect(err).toContain('starting crawl shop-')
    expect(out).toMatch(/Finished after .*\n.*pages fetched.*\n.*records: \d+ product/)
    expect(out).toMatch(/shoal export --kind \w+ --out \w+\.csv/)
    expect(`${out}${err}`).not.toContain('\x1b')
    expect((await inDir('explain', 'https://elsewhere.example/')).out).toContain('out_of_scope')
    expect((await inDir('explain', `${origin}/`)).out).toContain('status 200')
  })

  it('prints next steps that work: export has the records of this crawl alone, and try has the arguments', async () => {
    const spider = (name: string) =>
      writeFileSync(
        join(dir, `${name}.ts`),
        `import { defineSpider } from 'shoal'
         import { z } from 'zod'
         export default defineSpider(z.object({ path: z.string() }), ({ path }) => defineSpider({
           name: '${name}', start: ['${origin}' + path], allowPrivate: ['127.0.0.1:*'], pace: { delay: '5ms' },
           records: { front: z.object({ title: z.string(), never: z.string().optional() }) },
           routes: { all: { match: '/', record: { kind: 'front', key: 'title', fields: { title: 'title', never: '.never' } } } },
         }))`,
      )
    for (const name of ['left', 'right']) {
      spider(name)
      const { out } = await inDir('run', `${name}.ts`, '-a', 'path=/')
      const steps = [...out.matchAll(/^ {4}shoal (.*)$/gm)].map(([, step = '']) => step.split(' '))
      expect(steps.map(([command]) => command)).toEqual(['export', 'try'])
      const ends = await Promise.all(steps.map((step) => inDir(...step)))
      expect(ends.map(({ code, err }) => ({ code, err }))).toEqual(steps.map(() => ({ code: 0, err: '' })))
      expect(ends[0]?.out).toBe('1 record written to front.csv\n')
    }
  })

  it("of a site that is down ends by the spider's own retries, counts the failures and says why", async () => {
    writeSpider('down', { start: 'http://127.0.0.1:9/' })
    const { code, out, err } = await inDir('run', 'down.ts')
    expect({ code, err }).toMatchObject({ code: 6, err: expect.stringContaining('starting crawl down-') })
    expect(out).toMatch(/robots_unreachable: robots\.txt of 127\.0\.0\.1:9 could not be read: .*ECONNREFUSED/)
    expect(lastJson((await inDir('status', 'down', '--json')).out)).toMatchObject({
      ...{ state: 'finished', failed: 4, retried: 3, dead: 1 },
    })
  })

  it('drains on SIGTERM, says so, exits with 143, and goes on with the same command', async () => {
    writeSpider('slow', { delay: '100ms' })
    const run = startShoal(['run', 'slow.ts', '--json'], { cwd: dir })
    await run.until(async () => {
      const { code, out } = await inDir('status', 'slow', '--json')
      return code === 0 && Number(lastJson(out).done) > 2
    })
    run.kill('SIGTERM')
    const { code, out, err } = await run.ended
    expect(code).toBe(143)
    expect(err).toMatch(/^finishing (no|\d+) pages? in flight/)
    expect(lastJson(out)).toMatchObject({ state: 'running', interrupted: true })

    writeSpider('slow', { delay: '1ms' })
    const again = await inDir('run', 'slow.ts')
    expect(again.code).toBe(0)
    expect(again.err).toContain('resuming crawl')
    expect(again.err.match(/the spider file has changed/g)).toHaveLength(1)
    expect(again.err.match(/spider\.changed/g)).toHaveLength(1)
  })

  it('and worker end when their workers are drained from outside, say so, and leave the crawl unfinished', async () => {
    writeSpider('long', { delay: '150ms' })
    const queue = `sqlite:${join(dir, 'long.db')}`
    const run = startShoal(['run', 'long.ts', '--json', '--queue', queue], { cwd: dir })
    const worker = startShoal(['worker', 'long.ts', '--queue', queue], { cwd: dir })
    const backends = await openBackends({ queue, store: queue })
    try {
      await expect.poll(() => backends.frontier.workers(), { timeout: 15_000 }).toHaveLength(2)
      for (const one of await backends.frontier.workers()) await askToDrain(backends.notes, one.worker)
      const { code, out } = await run.ended
      expect(code).toBe(130)
      expect(lastJson(out)).toMatchObject({ state: 'running', interrupted: true, drained: true })
      expect(await worker.ended).toMatchObject({ code: 0, err: expect.stringContaining('drained remotely') })
    } finally {
      await backends.close()
    }
  })

  it('leaves at once on the second Ctrl-C', async () => {
    writeSpider('stuck', { delay: '100ms' })
    const run = startShoal(['run', 'stuck.ts', '--json', '--grace', '1h'], { cwd: dir })
    await run.until(async () => (await inDir('status', 'stuck')).code === 0)
    run.kill('SIGINT')
    run.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
  })

  it('exits with 6 when not one page was fetched', async () => {
    writeSpider('nowhere', { start: `${origin}/catalogue/discontinued_0/index.html` })
    const { code, out } = await inDir('run', 'nowhere.ts')
    expect(code).toBe(6)
    expect(out).toContain('Finished without fetching a page')
    expect(out).toContain('http_error × 1')
  })

  it.each([
    ['missing.ts', null, 3, 'error spider_missing: '],
    ['syntax.ts', 'export default {', 3, 'error spider_syntax: '],
    ['other.ts', 'export default {}', 3, 'error spider_invalid: '],
  ])('tells what is wrong with %s in one line', async (file, text, exit, line) => {
    if (text !== null) writeFileSync(join(dir, file), text)
    const { code, err } = await inDir('run', file)
    expect(code).toBe(exit)
    expect(err).toContain(line)
    expect(err.trimEnd().split('\n')).toHaveLength(2)
  })
})

describe('crawl', () => {
  it('of a private address says how to allow it', async () => {
    const { code, out } = await inDir('crawl', `${origin}/`)
    expect(code).toBe(6)
    expect(out).toContain(` --allow-private ${new URL(origin).host}\n`)
  })

  it('needs no spider: fields and a file', async () => {
    const { code, out } = await inDir(
      ...[
        'crawl',
        '--follow',
        `${origin.replace('//', '//me:secret@')}/`,
        '--field',
        'title=h1',
        '--max-pages',
        '5',
        '--delay',
        '5ms',
      ],
      ...['--allow-private', '127.0.0.1:*', '--out', 'pages.csv'],
    )
    expect(code).toBe(0)
    // They are exported already.
    expect(out).not.toContain('export --kind')
    const lines = readFileSync(join(dir, 'pages.csv'), 'utf8').trimEnd().split('\n')
    expect(lines[0]).toMatch(/^title,/)
    expect(lines.length).toBeGreaterThan(3)
    expect(readFileSync(join(dir, '.shoal', 'spiders.json'), 'utf8')).not.toContain('secret')
  })
})

describe('try', () => {
  it('shows a page and stores nothing', async () => {
    const product = createShop(OPTIONS)
      .siteMap()
      .find((page) => page.kind === 'product' && !page.alwaysFails && page.failsFirst === 0)
    const { code, out } = await inDir(
      'try',
      'shop.ts',
      `${origin}${product?.path}`,
      '--json',
      '--queue',
      'sqlite:none.db',
    )
    expect(code).toBe(0)
    expect(lastJson(out)).toMatchObject({ status: 200, route: 'product', records: [{ kind: 'product' }] })
    expect((await inDir('status', '--queue', 'sqlite:none.db')).code).toBe(5)
    expect((await inDir('try', 'shop.ts', 'https://elsewhere.example/')).code).toBe(6)
  })
})

describe('init', () => {
  it('writes a spider that loads, and never over an old one', async () => {
    const { code, out } = await inDir('init', 'first')
    expect(code).toBe(0)
    expect(out).toContain('shoal run books.ts')
    const spider = await loadSpider(join(dir, 'first', 'books.ts'))
    const door = createAdmitter(spider.admit)
    const routeOf = (url: string) => {
      const admission = door.resolve(url, url)
      return admission.ok ? admission.target.route : admission.refusal.code
    }
    expect(routeOf('https://books.toscrape.com/catalogue/page-2.html')).toBe('listing')
    expect(routeOf('https://books.toscrape.com/catalogue/a-light-in-the-attic_1000/index.html')).toBe('book')
    expect(routeOf('https://elsewhere.example/')).toBe('out_of_scope')
    const again = await inDir('init', 'first')
    expect(again.code).toBe(2)
    expect(again.err).toContain('already exists')
  })
})
