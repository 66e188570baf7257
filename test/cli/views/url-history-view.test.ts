import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import type { Output } from '../../../src/cli/output.js'
import type { Session } from '../../../src/cli/session.js'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { table } from '../../../src/cli/terminal/table.js'
import { showUrlHistory } from '../../../src/cli/views/url-history-view.js'
import { ManualClock } from '../../../src/clock.js'
import { MemoryFrontier } from '../../../src/frontier/memory/memory-frontier.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { gatherEvidence } from '../../../src/observe/explain/evidence.js'
import { urlHistoryOf } from '../../../src/observe/explain/url-history.js'
import type { SpiderDefinition } from '../../../src/spider/definition.js'
import { resolveSpider } from '../../../src/spider/resolve.js'
import { memoryRecordStore } from '../../../src/store/memory/memory-record-store.js'
import { fingerprint } from '../../../src/url/fingerprint.js'
import { specOf } from '../../contract/frontier-fixtures.js'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'

process.env.TZ = 'UTC'
delete process.env.npm_command
const URL_TOLD = 'https://shop.example/p/17'
const PAGE = readFileSync(new URL('../../../docs/explain.md', import.meta.url), 'utf8')

/** The two stories of docs/explain.md, as the terminal shows them. */
async function stories(): Promise<[waiting: string, done: string]> {
  const clock = new ManualClock(Date.UTC(2026, 2, 1, 9, 0, 0))
  const frontier = new MemoryFrontier({ clock })
  const store = memoryRecordStore(clock)
  const routes = { product: { match: '/p/*', proxy: 'home' }, page: { match: '/**' } }
  const spider = resolveSpider({ name: 'shop', start: ['https://shop.example/'], routes } as SpiderDefinition, 'h')
  await frontier.open(specOf({ id: 'shop-20260301', spider: 'shop', limits: { delayMs: 2_000, concurrency: 1 } }))
  const about = { host: 'shop.example', route: 'product', depth: 2 }
  const link = (url: string, priority: number) => ({ ...about, url, fp: fingerprint(url), priority })
  await frontier.add('shop-20260301', [link(URL_TOLD, 10), link('https://shop.example/p/18', 5)])
  let seq = 0
  const visit = async () => {
    const about = { machine: 'mill', pid: 1, version: '1', pools: ['home'] }
    const { leases } = await frontier.lease({ worker: 'mill-1', seq: ++seq, want: 1, spiders: ['shop'], about })
    const [lease] = leases
    if (lease === undefined) throw new Error('nothing to lease')
    clock.advance(200)
    return lease
  }
  const row = (fields: Parameters<typeof fetchRow>[0]) =>
    fetchRow({
      spider: 'shop',
      crawl: 'shop-20260301',
      fp: fingerprint(URL_TOLD),
      url: URL_TOLD,
      worker: 'mill-1',
      at: clock.now(),
      ...fields,
    })
  const first = await visit()
  await store.records.write(
    batch({ fetches: [row({ status: 429, bytes: 180, ms: 95, error: 'throttled', pool: 'home/198.51.100.7:8080' })] }),
  )
  const host = 'shop.example'
  await frontier.release([{ lease: first, host, elapsedMs: 95, report: { kind: 'throttled', retryAfterMs: 30_000 } }])
  const failure = { code: 'throttled', message: 'the server answered 429' } as const
  await frontier.settle([
    { lease: first, outcome: { kind: 'retry', afterMs: 30_000, failure, countsAsAttempt: false } },
  ])
  clock.advance(4_000)
  const waiting = await told()
  clock.advance(40_000)
  const second = await visit()
  const data = { title: 'Copper kettle', price: 39.5, sku: '17' }
  await store.records.write(
    batch({
      records: [record({ spider: 'shop', kind: 'product', key: '17', url: URL_TOLD, data, scrapedAt: clock.now() })],
      fetches: [row({ status: 200, bytes: 18_432, ms: 140, attempt: 1, pool: 'home/198.51.100.9:8080' })],
    }),
  )
  await frontier.settle([{ lease: second, outcome: { kind: 'done', links: [], bytes: 18_432 } }])
  return [waiting, await told()]

  async function told(): Promise<string> {
    const lines: string[] = []
    const print = (line = '') => void lines.push(line)
    const style = styleFor({}, {})
    const output: Partial<Output> = {
      ...{ style, print, width: 130 },
      table: (columns, rows) => {
        for (const line of table(columns, rows, 130, style.dim)) print(line)
      },
    }
    const session: Partial<Session> = { output: output as Output, sameDatabase: '' }
    const backends = { frontier, notes: memoryNotes({ clock }), store }
    const crawls = await frontier.crawls()
    const evidence = await gatherEvidence(backends, crawls, URL_TOLD, async () => spider, clock.now())
    if (crawls[0] === undefined) throw new Error('there is no crawl')
    showUrlHistory(session as Session, urlHistoryOf(evidence, crawls[0], clock.now()), evidence, null, clock.now())
    return lines.map((line) => line.trimEnd()).join('\n')
  }
}

it('docs/explain.md shows what the terminal shows', async () => {
  const shown = [...PAGE.matchAll(/^```text history\n([\s\S]*?)\n```$/gm)].map(([, block]) => block)
  expect(shown).toEqual(await stories())
})
