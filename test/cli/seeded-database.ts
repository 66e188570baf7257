import { systemClock } from '../../src/clock.js'
import type { CrawlSpec, Frontier, Lease, Outcome } from '../../src/frontier/frontier.js'
import { SqliteFrontierEngine } from '../../src/frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from '../../src/frontier/sqlite/sqlite-frontier.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { migrateStore } from '../../src/store/sqlite/schema.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import type { Link } from '../../src/url/link.js'
import { sqliteStoreOn } from '../support/sqlite-store.js'

export const CRAWL = 'shop-1'

type SeededCrawl = Pick<CrawlSpec, 'id' | 'spider'>
const SHOP: SeededCrawl = { id: CRAWL, spider: 'shop' }

export const url = (state: string) => `https://shop.example/${state}`

export async function seedDatabase(file: string, as: SeededCrawl = SHOP): Promise<void> {
  const db = new SqliteDb(file)
  SqliteFrontierEngine.migrate(db)
  migrateStore(db)
  const frontier = new SqliteFrontier(callDirectly(db, new SqliteFrontierEngine(db, systemClock)), async () => {})
  const store = sqliteStoreOn(db, async () => {})
  await seedBackends(frontier, store, as)
  db.close()
}

/** One running crawl of the spider `shop` that has links in every state, and one record. */
export async function seedBackends(
  frontier: Frontier,
  store: RecordStore,
  { id: crawl, spider }: SeededCrawl = SHOP,
): Promise<void> {
  await frontier.open({ ...SPEC, id: crawl, spider })
  const active = ['done', 'dead', 'delayed', 'skipped', 'leased']
  await frontier.add(crawl, [...active.map((name) => link(name, 10)), link('queued', 5), link('queued-later', 0)])
  await frontier.seeded(crawl)
  const { leases } = await frontier.lease({
    worker: `w1${crawl === CRAWL ? '' : `-${crawl}`}`,
    seq: 1,
    want: active.length,
    spiders: [spider],
  })
  const now = systemClock.now()
  const fetched = (lease: Lease, status: number, error: string | null) => ({
    ...{
      spider,
      crawl,
      gen: lease.gen,
      epoch: lease.epoch,
      fp: lease.link.fp,
      url: lease.link.url,
      host: lease.link.host,
      route: 'product',
      depth: 1,
      link: null,
      status,
      bytes: 1234,
      ms: 56,
    },
    ...{ attempt: 1, worker: 'w1', error, page: null, headers: null, pool: null, at: now },
  })
  for (const lease of leases) {
    const outcome = OUTCOMES[lease.link.url]
    if (lease.link.url === url('done')) {
      const row = {
        spider,
        site: 'shop.example',
        kind: 'product',
        key: 'p1',
        url: lease.link.url,
        data: { title: '=Lamp' },
      }
      await store.records.write({
        records: [
          {
            ...row,
            crawl,
            gen: lease.gen,
            epoch: lease.epoch,
            scrapedAt: now,
            freshMs: 0,
            identity: null,
            history: false,
          },
        ],
        rejected: [
          { ...row, key: 'p2', crawl, issues: [{ field: 'price', message: 'expected number' }], scrapedAt: now },
        ],
        fetches: [fetched(lease, 200, null)],
      })
    }
    if (lease.link.url === url('dead'))
      await store.records.write({ records: [], rejected: [], fetches: [fetched(lease, 500, 'server_error')] })
    if (outcome !== undefined) await frontier.settle([{ lease, outcome }])
  }
}

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  [url('done')]: { kind: 'done', links: [], bytes: 1234 },
  [url('dead')]: { kind: 'dead', failure: { code: 'server_error', message: 'status 500' } },
  [url('delayed')]: {
    kind: 'retry',
    afterMs: 3_600_000,
    failure: { code: 'timeout', message: 'took longer than 30 s' },
    countsAsAttempt: true,
  },
  [url('skipped')]: { kind: 'skipped', failure: { code: 'robots_disallowed', message: 'robots.txt forbids it' } },
}

function link(name: string, priority: number): Link {
  return { url: url(name), fp: fingerprint(url(name)), host: 'shop.example', route: 'product', depth: 1, priority }
}

export const SPEC: CrawlSpec = {
  id: CRAWL,
  spider: 'shop',
  spiderHash: 'h',
  order: 'priority',
  limits: { delayMs: 0, concurrency: 8 },
  routeLimits: {},
  visibilityMs: 600_000,
  retryPriorityStep: 10,
  agingMs: 1_000,
  maxReclaims: 3,
  maxPending: 1_000,
  overflow: 'refuse',
  budget: {},
  gen: 1,
}
