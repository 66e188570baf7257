import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SqliteDb } from '../../src/sqlite/db.js'
import { lastJson, runCli } from '../support/cli.js'

const PRODUCTS = 60
const dir = mkdtempSync(join(tmpdir(), 'shoal-quality-'))
let server: Server
/** The shop has a new design: prices stand in another place. */
let redesigned = false

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'text/html')
    const sku = /^\/p\/(\d+)$/.exec(url)?.[1]
    if (url === '/') response.end(Array.from({ length: PRODUCTS }, (_, i) => `<a href="/p/${i}">p</a>`).join(''))
    else if (sku === undefined) response.writeHead(404).end()
    else response.end(`<h1>Product ${sku}</h1><i>${sku}</i><b class="${redesigned ? 'cost' : 'price'}">${sku}.5</b>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  writeFileSync(
    join(dir, 'shop.ts'),
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: 'shop', start: ['http://127.0.0.1:${port}/'], robots: false, allowPrivate: ['127.0.0.1:*'],
       pace: { delay: 0, concurrency: 8 },
       records: {
         product: {
           schema: z.object({ sku: z.string(), title: z.string(), price: z.number().nullish() }),
           fresh: 0, history: true, merge: { identity: 'sku' },
         },
       },
       routes: {
         list: { match: '/', follow: [{ links: 'a' }] },
         product: { match: '/p/*', record: { kind: 'product', key: 'sku',
           fields: { sku: 'i', title: 'h1', price: { select: '.price', as: 'number' } } } },
       },
     })`,
  )
})
afterAll(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

const inDir = (...args: string[]) => runCli(args, { cwd: dir })

describe('a site that changes under a spider', () => {
  it('shows in the statistics, in the run that meets it, and in the history of its records', async () => {
    expect(lastJson((await inDir('run', 'shop.ts', '--json')).stdout)).toMatchObject({ records: PRODUCTS, drift: [] })
    const before = lastJson((await inDir('records', 'stats', 'shop', '--json')).stdout)
    expect(before).toMatchObject({ kind: 'product', records: PRODUCTS, rejected: 0 })
    expect(before.fields).toMatchObject([
      { field: 'price', filled: PRODUCTS, distinct: PRODUCTS },
      { field: 'sku', filled: PRODUCTS },
      { field: 'title', filled: PRODUCTS },
    ])

    // Two hours later.
    const db = new SqliteDb(join(dir, '.shoal', 'shoal.db'))
    db.exec('UPDATE field_stats SET hour = hour - 7200000')
    db.close()
    redesigned = true
    const { stdout, stderr } = await inDir('run', 'shop.ts', '--json', '--log-level', 'warn')
    const message = 'product.price is filled on 0 % of the records, was 100 %'
    expect(lastJson(stdout).drift).toMatchObject([{ name: 'records.drift', spider: 'shop', message }])
    const events = stderr.split('\n').filter((line) => line.includes('records.drift'))
    expect(events).toHaveLength(1)
    expect(JSON.parse(events[0] ?? '')).toMatchObject({
      level: 'warn',
      spider: 'shop',
      kind: 'product',
      field: 'price',
    })

    const { stdout: history } = await inDir('records', 'history', '7')
    expect(history).toMatch(/price: 7.5 → (null|nothing)/)
    const merged = lastJson((await inDir('records', 'merged', 'shop.ts', '--identity', '7', '--json')).stdout)
    expect(merged).toMatchObject({ identity: '7', count: 1, data: { title: 'Product 7' } })
  })
})
