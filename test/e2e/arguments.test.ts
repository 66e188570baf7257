import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXIT } from '../../src/errors.js'
import { lastJson, runCli } from '../support/cli.js'

const dir = mkdtempSync(join(tmpdir(), 'shoal-arguments-'))
let server: Server

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html')
    const links = Array.from({ length: 6 }, (_, i) => `<a href="${url}/p/${i}">p</a>`).join('')
    response.end(url.includes('/p/') ? `<h1>Product ${url}</h1>` : links)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  writeFileSync(join(dir, 'shop.ts'), shop('category'))
})
afterAll(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Its records say which arguments the handler saw. */
const shop = (says: string) =>
  `
  import { defineSpider } from 'shoal'
  import { z } from 'zod'
  const args = z.object({ category: z.string().default('all'), max: z.coerce.number().default(4) })
  export default defineSpider(args, ({ category, max }) => defineSpider({
    name: 'shop', start: ['http://127.0.0.1:${(server.address() as AddressInfo).port}/' + category],
    robots: false, allowPrivate: ['127.0.0.1:*'], pace: { delay: 0 }, budget: { pages: max }, savePages: true,
    records: { product: { schema: z.object({ says: z.string() }), fresh: 0 } },
    routes: {
      product: { match: '/*/p/*', handler(page, out) { out.record('product', page.url, { says: ${says} + max }) } },
      list: { match: '/*', follow: [{ links: 'a' }] },
    },
  }))`

const jsonLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
const inDir = (...args: string[]) => runCli(args, { cwd: dir })
/** What the records of a crawl say, without repeats. */
const said = async (path: string) => {
  const rows = jsonLines((await inDir('records', 'list', '--limit', '100', '--json')).stdout)
  const of = rows.filter(({ url }) => String(url).includes(path)).map(({ data }) => (data as { says: string }).says)
  return [...new Set(of)]
}

describe('arguments on the command line', () => {
  it('that are wrong are refused before anything is opened', async () => {
    for (const [args, code, message] of [
      [['-a', 'categry=shoes'], 'spider_args', "there is no argument 'categry', did you mean 'category'?"],
      [['-a', 'max=ten'], 'spider_args', "argument max: expected number, not 'ten'"],
      [['-a', 'max'], 'usage', 'Expected <name>=<value>'],
      [['-a', '=1'], 'usage', 'Expected <name>=<value>'],
      [['-a', 'max=1', '--arg', 'max=2'], 'usage', "'max' is given twice"],
    ] as const) {
      const { code: exit, stderr } = await inDir('run', 'shop.ts', ...args)
      expect([exit, stderr]).toEqual([EXIT.usage.code, expect.stringContaining(`error ${code}`)])
      expect(stderr).toContain(message)
    }
    expect(readdirSync(dir)).toEqual(['shop.ts'])
  })

  it('belong to a crawl: each is served, resumed, listed and read again with its own', async () => {
    const start = async (...args: string[]) => lastJson((await inDir('start', 'shop.ts', ...args, '--json')).stdout)
    const shoes = await start('-a', 'category=shoes', '-a', 'max=3')
    const hats = await start('-a', 'category=hats')
    expect(shoes).toMatchObject({ args: { category: 'shoes', max: '3' }, resumed: false })
    expect(hats).toMatchObject({ args: { category: 'hats' }, resumed: false })
    expect(await start('-a', 'category=shoes', '-a', 'max=3')).toMatchObject({ crawl: shoes.crawl, resumed: true })
    const other = await inDir('start', 'shop.ts', '-a', 'category=hats')
    expect(other.stderr).toContain(`resuming crawl ${hats.crawl} of shop with category=hats`)
    expect(other.stderr).toContain(`crawl ${shoes.crawl}, with category=shoes max=3, is unfinished too`)

    // Its workers, in processes that load the spider again, fetch pages of both crawls.
    const worked = await inDir('run', 'shop.ts', '-a', 'category=shoes', '-a', 'max=3', '--workers', '2')
    const { state } = lastJson((await inDir('status', String(hats.crawl), '--json')).stdout)
    if (state !== 'finished') await inDir('run', 'shop.ts', '-a', 'category=hats', '--workers', '1')
    expect([worked.code, await said('/shoes/'), await said('/hats/')]).toEqual([0, ['shoes3'], ['hats4']])

    const list = jsonLines((await inDir('crawls', 'list', '--json')).stdout)
    expect(list.map(({ id, args, done }) => [id, args, done])).toEqual([
      [hats.crawl, { category: 'hats' }, 4],
      [shoes.crawl, { category: 'shoes', max: '3' }, 3],
    ])
    expect((await inDir('crawls', 'list')).stdout).toContain('category=shoes max=3')
    expect((await inDir('status', String(shoes.crawl))).stdout).toContain('arguments category=shoes max=3')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/shoes/p/1`
    expect((await inDir('explain', url, '--spider', 'shop.ts')).code).toBe(0)

    writeFileSync(join(dir, 'shop.ts'), shop('"again " + category'))
    const again = lastJson((await inDir('reparse', 'shop.ts', '--json')).stdout)
    expect(again).toMatchObject({ written: 5, failed: 0 })
    expect([await said('/shoes/'), await said('/hats/')]).toEqual([['again shoes3'], ['again hats4']])
  }, 60_000)

  it('are shown when a run starts, and remembered by its spider', async () => {
    const run = await inDir('run', 'shop.ts', '-a', 'category=socks', '--workers', '1')
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining('of shop with category=socks, 1 start URL added'),
    ])
    expect(await said('/socks/')).toEqual(['again socks4'])
    const { args, pages } = lastJson((await inDir('run', 'shop.ts', '-a', 'max=2', '--json')).stdout)
    expect({ args, pages }).toEqual({ args: { max: '2' }, pages: 2 })
  }, 60_000)

  it('are for one spider', async () => {
    writeFileSync(join(dir, 'other.ts'), shop('category').replace("'shop'", "'other'"))
    const { code, stderr } = await inDir('worker', 'shop.ts', 'other.ts', '-a', 'max=1')
    expect([code, stderr]).toEqual([EXIT.usage.code, expect.stringContaining('-a is for one spider')])
  })
})
