import { openSync, readdirSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { openResults } from '../../src/wire/backends.js'
import { type CliResult, lastJson, runCli, startCli, tempDir } from '../support/cli.js'

/** Enough for several writes. */
export const PRODUCTS = 150
/** A slow handler takes its time from this page on: by then some are written, and not all. */
const SLOW_AFTER = 100

export const WRONG = { sku: '.sku', price: { select: '.prize', as: 'number' } }
export const RIGHT = { sku: '.sku', price: { select: '.price', as: 'number' } }

export interface SpiderParts {
  readonly fields: Record<string, unknown>
  readonly route?: string
  readonly handler?: string
  /** Unless given the article number; '' for the URL. */
  readonly key?: string
}

/** A crawled shop with its raw pages, of which nothing more can be had: it is closed. */
export interface CrawledShop {
  readonly dir: string
  shoal(...args: string[]): Promise<CliResult>
  start(...args: string[]): ReturnType<typeof startCli>
  /** Writes the spider and reparses with it; what it answers with --json. */
  reparse(parts: SpiderParts, ...args: string[]): Promise<Record<string, unknown> & { code: number | null }>
  writeSpider(parts: SpiderParts): string
  records(): Promise<StoredRecord[]>
  crawlAgain(): Promise<string>
  close(): Promise<void>
}

/** `address`: where its records go, beside a queue and raw pages in a folder of its own. */
export async function crawlShop(given: string | null): Promise<CrawledShop & { readonly crawl: string }> {
  const temp = tempDir('reparse')
  const dir = temp.path
  const address = given ?? `sqlite:${join(dir, '.shoal', 'shoal.db')}`
  const store = ['--store', address]
  const options = { seed: 7, pages: PRODUCTS, bytes: 800, faults: 0, accessLog: join(dir, 'access.log') }
  let shop: RunningShop = await startShop({ ...options, port: 0 })
  const { port } = shop
  const dials = join(dir, 'dials.txt')
  const spy = join(dir, 'spy.cjs')
  writeFileSync(dials, '')
  // In every thread of the command: whoever opens a socket is written down.
  writeFileSync(
    spy,
    `const { Socket } = require('node:net'); const { appendFileSync } = require('node:fs'); const { connect } = Socket.prototype
     Socket.prototype.connect = function (...args) { appendFileSync(${JSON.stringify(dials)}, JSON.stringify(args[0]) + '\\n'); return connect.apply(this, args) }
     const { fetch } = globalThis
     globalThis.fetch = function (...args) { appendFileSync(${JSON.stringify(dials)}, 'fetch ' + String(args[0]) + '\\n'); return fetch.apply(this, args) }`,
  )
  const env = { NODE_OPTIONS: `--require ${spy}` }
  const shoal = (...args: string[]) => runCli([...args, ...store], { cwd: dir })

  const writeSpider = ({ fields, route = 'product', handler = '', key = "key: 'sku'," }: SpiderParts): string => {
    const file = join(dir, 'shop.ts')
    writeFileSync(
      file,
      `import { defineSpider } from 'shoal'
       import { z } from 'zod'
       import { appendFileSync } from 'node:fs'
       let read = 0
       export const slow = async () => {
         appendFileSync('${join(dir, 'marks.txt')}', '.')
         if (++read > ${SLOW_AFTER}) await new Promise((resolve) => setTimeout(resolve, 300))
       }
       export default defineSpider({
         name: 'shop', start: ['http://127.0.0.1:${port}/'], allowPrivate: ['127.0.0.1:*'], savePages: true,
         pace: { delay: '0ms', concurrency: 16 }, records: { product: { schema: z.any(), fresh: 0 } }, scope: { maxDepth: 500 },
         routes: {
           listing: { match: ['/', '/catalogue/page-*'], follow: [{ links: 'article a' }, { links: 'a.next' }] },
           ${route}: { match: ['/catalogue/*/index.html', '/old/*'], ${handler}
             record: { kind: 'product', ${key} fields: ${JSON.stringify(fields)} } },
         },
       })`,
    )
    return file
  }
  const crawl = async () => {
    writeSpider({ fields: WRONG })
    const ran = await shoal('run', 'shop.ts', '--fresh', '--json')
    const summary = lastJson(ran.stdout)
    if (ran.code !== 0 || summary.records !== PRODUCTS) throw new Error(`the crawl failed: ${ran.stdout}${ran.stderr}`)
    await shop.close()
    return String(summary.crawl)
  }
  const first = await crawl()
  return {
    dir,
    crawl: first,
    shoal,
    writeSpider,
    start: (...args) => startCli([...args, ...store], { cwd: dir, env }),
    async reparse(parts, ...args) {
      writeSpider(parts)
      const { code, stdout, stderr } = await runCli(
        ['reparse', 'shop.ts', '--json', '--workers', '1', ...args, ...store],
        {
          cwd: dir,
          env,
        },
      )
      if (stderr !== '') throw new Error(`${stdout}${stderr}`)
      return { ...lastJson(stdout), code }
    },
    async records() {
      const { store: opened, close } = await openResults({ store: address })
      try {
        const rows: StoredRecord[] = []
        for await (const row of opened.records.scan({ kind: 'product' })) rows.push(row)
        return rows.sort((a, b) => (a.key < b.key ? -1 : 1))
      } finally {
        await close()
      }
    },
    async crawlAgain() {
      shop = await startShop({ ...options, port })
      return crawl()
    },
    async close() {
      temp.remove()
    },
  }
}

/** What the commands with the spy dialled. */
export function dialled(dir: string): string[] {
  return readFileSync(join(dir, 'dials.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

/** Reparses with a slow handler, and sends the signal when it is in the middle. */
export async function signalled(
  shop: CrawledShop,
  signal: 'SIGINT' | 'SIGKILL',
  spider: SpiderParts,
): Promise<CliResult> {
  shop.writeSpider({ ...spider, handler: 'handler: slow,' })
  const marks = () => readFileSync(join(shop.dir, 'marks.txt')).length
  writeFileSync(join(shop.dir, 'marks.txt'), '')
  const { child, result } = shop.start('reparse', 'shop.ts', '--json', '--workers', '1')
  while (marks() <= SLOW_AFTER && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 10))
  child.kill(signal)
  return result
}

/** Overwrites some bytes in the middle of the largest file of raw pages. */
export function damage(pages: string): void {
  const files = readdirSync(pages, { recursive: true, encoding: 'utf8' }).map((name) => join(pages, name))
  const sized = files.map((path) => ({ path, ...pick(path) })).filter(({ isFile }) => isFile)
  const largest = sized.sort((a, b) => b.size - a.size)[0]
  if (largest === undefined) throw new Error('there are no raw pages')
  writeSync(openSync(largest.path, 'r+'), Buffer.alloc(20), 0, 20, Math.floor(largest.size / 2))
}

function pick(path: string): { size: number; isFile: boolean } {
  const found = statSync(path)
  return { size: found.size, isFile: found.isFile() }
}
