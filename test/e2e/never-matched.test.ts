import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { lastJson, runCli } from '../support/cli.js'

vi.setConfig({ testTimeout: 60_000 })
const BOOKS = 3
let server: Server
let origin = ''
/** The example of docs/reparse.md, on a shop of our own. */
let example = ''
const dir = mkdtempSync(join(tmpdir(), 'shoal-never-'))

const LISTING = Array.from(
  { length: BOOKS },
  (_, i) => `<article><h3><a href="/catalogue/${i}/index.html">b</a></h3></article>`,
).join('')

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html')
    const number = /^\/catalogue\/(\d+)\/index.html$/.exec(url)?.[1]
    if (url === '/') response.end(`${LISTING}<p class="next"><a href="/catalogue/page-2.html">next</a></p>`)
    else if (url === '/catalogue/page-2.html') response.end(LISTING)
    else if (number === undefined) response.writeHead(404).end()
    else
      response.end(
        `<h1>Book ${number}</h1><table><td>upc${number}</td></table><p class="price_color">£${number}.50</p>`,
      )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [, code = ''] =
    /```ts\n([\s\S]*?)```/.exec(readFileSync(new URL('../../docs/reparse.md', import.meta.url), 'utf8')) ?? []
  example = code
    .replace('https://books.toscrape.com/', `${origin}/`)
    .replace("name: 'books',", "name: 'books', allowPrivate: ['127.0.0.1:*'], robots: false, pace: { delay: 0 },")
  writeFileSync(join(dir, 'books.ts'), example)
})
afterAll(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

const shoal = (...args: string[]) => runCli(args, { cwd: dir })

describe('a selector that never matches', () => {
  it('shows in the summary, in the log and in records stats, as docs/reparse.md says', async () => {
    const { stdout } = await shoal('run', 'books.ts')
    expect(stdout).toContain('never book.price (`.prize_color`) is filled on 0 of 3 records')
    expect(stdout).toMatch(/shoal try books.ts http:\/\/127.0.0.1:\d+\/catalogue\/\d\/index.html/)
    expect(stdout.match(/never/g)).toHaveLength(1)

    const stats = await shoal('records', 'stats')
    expect(stats.stdout).toMatch(/^price +░+ +0 %/m)
    expect(stats.stdout).toContain(
      'never price: filled on 0 % of the records of the newest crawl, selector `.prize_color`, for example http',
    )
    const json = lastJson((await shoal('records', 'stats', '--json')).stdout)
    expect(json.fields).toContainEqual(expect.objectContaining({ field: 'price', filled: 0, share: 0 }))
    expect(json.neverMatched).toMatchObject([
      { part: 'field', of: 'book', name: 'price', selector: '.prize_color', seen: 3 },
    ])

    writeFileSync(join(dir, 'books.ts'), example.replace(".prize_color'", ".price_color'"))
    const dry = await shoal('reparse', 'books.ts', '--dry-run')
    expect(dry.stdout).toMatch(/book +price +3 +0 +3 +0 +0/)
  })

  it('counts in each process of a crawl, and from the first page of a follow rule', async () => {
    const wrong = example
      .replace("name: 'books'", "name: 'wrong'")
      .replace('article h3 a', 'article h4 a')
      .replace('.prize_color', '.price_color')
    writeFileSync(join(dir, 'wrong.ts'), wrong)
    const { stdout, stderr } = await shoal('run', 'wrong.ts', '--workers', '2', '--json', '--log-level', 'warn')
    expect(lastJson(stdout)).toMatchObject({
      ...{ pages: 2, records: 0, drift: [] },
      neverMatched: [{ part: 'rule', of: 'listing', name: '', selector: 'article h4 a', seen: 2 }],
    })
    // The summary says it, so the log does not.
    expect(stderr).not.toContain('records.drift')
  })
})
