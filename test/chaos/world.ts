import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Random, systemClock, systemRandom } from '../../src/clock.js'
import { openCrawl } from '../../src/coordinator/crawls.js'
import { seedCrawl } from '../../src/coordinator/seeding.js'
import type { CrawlId, CrawlStats, LinkState } from '../../src/frontier/frontier.js'
import { loadSpider } from '../../src/spider/load.js'
import type { Spider } from '../../src/spider/spider.js'
import { createAdmitter } from '../../src/url/admit.js'
import { type Backends, openBackends } from '../../src/wire/backends.js'
import type { PostgresServer } from '../support/postgres-server.js'
import type { QueueScan } from './checker.js'
import type { Fleet } from './fleet.js'
import type { Recorder } from './history.js'
import type { MemoryWatch } from './memory.js'
import type { Redis } from './redis.js'
import type { Site } from './site.js'
import type { RunningSite } from './start-site.js'

export interface Pace {
  readonly delayMs: number
  readonly leaseMs: number
  readonly retries: number
}

/** All that a fault can get its hands on. */
export interface World {
  readonly random: Random
  readonly dir: string
  readonly pace: Pace
  readonly site: RunningSite
  readonly fleet: Fleet
  /** Null on SQLite. */
  readonly redis: Redis | null
  /** Null when the records are in SQLite. */
  readonly postgres: PostgresServer | null
  readonly backends: Backends
  /** Address of the record store. */
  readonly store: string
  readonly spider: Spider
  readonly spiderFile: string
  readonly crawl: CrawlId
  readonly injector: Recorder
  /** Of the workers. */
  readonly memory: MemoryWatch
  /** How long a part of the backends is away, where the run was told. */
  readonly awayMs: number | null
  /** Counts what was injected. */
  count(name: string, times?: number): void
  /** A figure of its own for the table. */
  figure(name: string, value: number | string): void
  figures(): Readonly<Record<string, number | string>>
  /** Pages that the site has answered, as a share of all: needs nothing of Shoal, which may be away. */
  share(): number
  /** Waits until this share of the site was fetched. */
  until(share: number): Promise<void>
  /** Null while the queue is away. */
  stats(): Promise<CrawlStats | null>
}

export function fault(world: World, name: string): void {
  world.injector.record([{ op: 'fault', phase: 'info', id: '', epoch: '', host: '', fault: name }])
}

export function healed(world: World): void {
  world.injector.record([{ op: 'heal', phase: 'info', id: '', epoch: '', host: '' }])
}

/** What the pages give beside their own record, as source text. */
export interface MoreRecords {
  readonly kinds: readonly string[]
  readonly handler: string
}

/** The spider as a file, as a user has one. */
export function writeSpider(dir: string, site: Site, pace: Pace, more?: MoreRecords): string {
  const file = join(dir, 'chaos.mjs')
  const hosts = site.origins.map((origin) => new URL(origin).host)
  const kinds = ['page', ...(more?.kinds ?? [])].map((kind) => `${kind}: { fresh: '0s' }`)
  const handler = more?.handler ?? (site.options.burns + site.options.bloats > 0 ? HANDLER : null)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'chaos',
  start: [${JSON.stringify(site.urlOf(0))}],
  scope: { hosts: ${JSON.stringify(hosts)}, maxDepth: 1000 },
  allowPrivate: ${JSON.stringify(hosts)},
  pace: { delay: '${pace.delayMs}ms', concurrency: 1 },
  retries: { max: ${pace.retries}, backoff: ['200ms', '500ms', '1s'] },
  lease: { visibility: '${pace.leaseMs}ms', heartbeat: '${Math.round(pace.leaseMs / 4)}ms' },
  handlerTimeout: '5s',
  records: { ${kinds.join(', ')} },
  routes: {
    page: {
      match: '/**',
      follow: [{ links: 'a' }],
      record: { kind: 'page', key: 'id', fields: { id: 'h1', n: 'b' } },
      ${handler === null ? '' : `handler: ${handler},`}
    },
  },
})
`,
  )
  return file
}

/** Some pages are bad for whoever parses them: one keeps the event loop for ten seconds, one eats memory until there is none. */
const HANDLER = `(page) => {
        if (page.text.includes('class="burns"')) for (const end = Date.now() + 10_000; Date.now() < end; );
        const hoard = []
        while (page.text.includes('class="bloats"')) hoard.push(new Array(1_000_000).fill(0))
      }`

export async function openWorldCrawl(backends: Backends, file: string): Promise<{ spider: Spider; crawl: CrawlId }> {
  const spider = await loadSpider(file)
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, crawl, { clock: systemClock, signal: new AbortController().signal }).all
  return { spider, crawl }
}

export async function openQueue(queue: string, store: string): Promise<Backends> {
  return openBackends({ queue, store })
}

const PAGE = 1_000
/** The queue is asked for so many pages one by one when it does not list what is done. */
const EXPLAINED = 3_000
const EXPLAINED_AT_ONCE = 50

/** Every link of the crawl that the queue lists, and a word on those it only counts. */
export async function scanQueue({
  backends,
  crawl,
  spider,
  site,
  random,
}: Pick<World, 'backends' | 'crawl' | 'spider' | 'random'> & {
  readonly site: Pick<RunningSite, 'site'>
}): Promise<QueueScan> {
  const { frontier } = backends
  const stats = await frontier.stats(crawl)
  const kept = frontier.can.ended === 'kept'
  const states: LinkState[] = ['queued', 'delayed', 'leased', 'dead', 'skipped', ...(kept ? (['done'] as const) : [])]
  const urls = new Map<LinkState, string[]>()
  for (const state of states) {
    const found: string[] = []
    let after: string | undefined
    do {
      const page = await frontier.links({ crawl, state, limit: PAGE, ...(after !== undefined && { after }) })
      found.push(...page.map(({ url }) => url))
      after = page.length < PAGE ? undefined : page.at(-1)?.cursor
    } while (after !== undefined)
    urls.set(state, found)
  }
  const done = new Set(urls.get('done'))
  const expected = [...site.site.urls].filter(([, { end, optional }]) => end === 'record' && !optional)
  const notDone: string[] = []
  if (kept) notDone.push(...expected.filter(([url]) => !done.has(url)).map(([url]) => url))
  else {
    const admitter = createAdmitter(spider.admit)
    const step = Math.max(1, expected.length / EXPLAINED)
    const asked: string[] = []
    for (let at = random() * step; at < expected.length; at += step) asked.push(expected[Math.floor(at)]?.[0] ?? '')
    const isDone = async (url: string) => {
      const admission = admitter.resolve(url, '')
      const link = admission.ok ? admitter.link(admission.target, 0) : null
      if (link === null || 'code' in link) throw new Error(`the spider does not admit ${url}`)
      return (await frontier.explain(crawl, link.fp)).state === 'done'
    }
    while (asked.length > 0) {
      const some = asked.splice(0, EXPLAINED_AT_ONCE)
      const answers = await Promise.all(some.map(isDone))
      notDone.push(...some.filter((_, index) => !answers[index]))
    }
  }
  const { total, queued, delayed, leased, dead, skipped } = stats
  return {
    state: stats.state,
    counters: { total, queued, delayed, leased, done: stats.done, dead, skipped },
    scanned: Object.fromEntries([...urls].map(([state, found]) => [state, found.length])),
    dead: urls.get('dead') ?? [],
    skipped: urls.get('skipped') ?? [],
    notDone,
  }
}

export async function waitFor(
  done: () => boolean | Promise<boolean>,
  withinMs: number,
  everyMs = 50,
): Promise<boolean> {
  const giveUpAt = performance.now() + withinMs
  while (!(await done())) {
    if (performance.now() > giveUpAt) return false
    await sleep(everyMs)
  }
  return true
}
