import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../../src/connect.js'
import type { Crawl } from '../../src/library/crawl.js'
import type { ProfileInput } from '../../src/simulate/profile-schema.js'
import type { SpiderDefinition } from '../../src/spider/definition.js'
import { childOf, forkTypeScript } from '../chaos/children.js'
import { startProxy } from '../support/proxy-server.js'
import { removeDirectory, startRedis, temporaryDirectory } from '../support/redis-server.js'
import type { Course } from './course.js'

const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))
const SPIDER = fileURLToPath(new URL('./spider.ts', import.meta.url))
/** Four workers on two busy cores take a minute to load. */
const READY_MS = 240_000
const CHECK_MS = 250
const BATCH = 5_000
const AUTO_CONCURRENCY = 64

/** For the spider, in the environment of its process. */
export interface RealityTask {
  readonly hosts: readonly string[]
  readonly start: string
  readonly pace: NonNullable<SpiderDefinition['pace']>
  readonly follows: boolean
  readonly burnSteps: number
  readonly proxied: boolean
}

interface SiteReport {
  readonly requests: number
  readonly throttled: number
  readonly servedBySecond: number[]
  readonly lastServedMs: number
}

/** The crawl was not at its end when it should have been long ago. */
export class TookTooLong extends Error {}

/**
 * The crawl of the profile by real worker processes on a real Redis, from real servers. The workers are idle when the clock starts, and all seeds are in
 * the queue: neither is part of a simulation. `onProgress` gets a line four times a second.
 */
export async function runReal(
  input: ProfileInput,
  { burnSteps, mostMs }: { readonly burnSteps: number; readonly mostMs: number },
  onProgress: (line: string) => void,
): Promise<Course> {
  const dir = temporaryDirectory('reality')
  const redis = await startRedis()
  const site = forkTypeScript('../reality/site-process.ts', input)
  const stops: (() => Promise<unknown> | unknown)[] = []
  try {
    const [{ origins, urls }] = (await once(site, 'message')) as [{ origins: string[]; urls: number[] }]
    const task = taskOf(input, origins, burnSteps)
    process.env.REALITY_TASK = JSON.stringify(task)
    const store = `sqlite:${join(dir, 'reality.db')}`
    const flags = [
      '--queue',
      redis.url,
      '--store',
      store,
      '--concurrency',
      String(input.concurrency ?? AUTO_CONCURRENCY),
    ]
    if (input.proxies !== undefined) {
      const proxies = await Promise.all(Array.from({ length: input.proxies.count ?? 1 }, () => startProxy()))
      stops.push(() => Promise.all(proxies.map((proxy) => proxy.stop())))
      const file = join(dir, 'pools.json')
      writeFileSync(file, JSON.stringify({ reality: { entries: proxies.map(({ url }) => url) } }))
      flags.push('--proxies', file)
    }
    const shoal = await connect({ queue: redis.url, store, logLevel: 'error' })
    stops.push(() => shoal.close())
    onProgress('starts workers')
    stops.push(
      await startWorkers(Number(input.workers ?? 1), flags, async () => (await shoal.frontier.workers()).length),
    )
    const crawl = await shoal.crawl(SPIDER, { fresh: true, start: false })
    await crawl.pause()
    onProgress('adds seeds')
    await addSeeds(crawl, input, { origins, urls })
    await crawl.resume()
    const { retried, dead } = await untilFinished(crawl, mostMs, onProgress)
    site.send('report')
    const [report] = (await once(site, 'message')) as [SiteReport]
    return {
      endMs: report.lastServedMs,
      endedBySecond: report.servedBySecond,
      ...{ requests: report.requests, throttled: report.throttled, retries: retried, dead },
    }
  } finally {
    for (const stop of stops.reverse()) await stop()
    site.kill('SIGKILL')
    await redis.stop()
    removeDirectory(dir)
  }
}

function taskOf(input: ProfileInput, origins: readonly string[], burnSteps: number): RealityTask {
  const { delay = 0, ...pace } = input.pace ?? {}
  return {
    hosts: origins.map((origin) => new URL(origin).host),
    start: `${origins[0]}/p/0`,
    pace: { delay, ...pace } as RealityTask['pace'],
    follows: input.seeds !== 'all',
    burnSteps,
    proxied: input.proxies !== undefined,
  }
}

/** Page by page over all hosts, as links of many sites come; with fewer seeds than pages the first of each host. */
async function addSeeds(crawl: Crawl, input: ProfileInput, { origins, urls }: { origins: string[]; urls: number[] }) {
  const most = input.seeds === 'all' ? Math.max(...urls) : 1
  let batch: string[] = []
  let added = 0
  const flush = async () => {
    added += (await crawl.add(batch)).added
    batch = []
  }
  let wanted = 0
  for (let page = 0; page < most; page++) {
    for (const [host, origin] of origins.entries()) {
      if (page >= (urls[host] ?? 0)) continue
      batch.push(`${origin}/p/${page}`)
      wanted++
      if (batch.length === BATCH) await flush()
    }
  }
  await flush()
  if (added !== wanted) throw new Error(`only ${added} of ${wanted} pages were accepted by the queue`)
  await crawl.seal()
}

/** One for each core at a time, until all have asked for work. The returned function ends them. */
async function startWorkers(count: number, flags: readonly string[], ready: () => Promise<number>) {
  const children: ReturnType<typeof startWorker>[] = []
  const stop = async () => {
    for (const { child } of children) child.kill('SIGTERM')
    await Promise.all(children.map(({ ended }) => ended))
  }
  try {
    for (const deadline = performance.now() + READY_MS; ; await sleep(CHECK_MS)) {
      const there = await ready()
      if (there >= count) return stop
      const failed = children.find(({ child }) => child.exitCode !== null)
      if (failed !== undefined) throw new Error(`a worker ended: ${failed.errors()}`)
      if (performance.now() > deadline) throw new Error(`only ${there} of ${count} workers were ready in time`)
      while (children.length < Math.min(count, there + availableParallelism())) children.push(startWorker(flags))
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function startWorker(flags: readonly string[]) {
  const child = childOf(
    spawn(process.execPath, [BIN, 'worker', SPIDER, ...flags], { stdio: ['ignore', 'ignore', 'pipe'] }),
  )
  let errors = ''
  child.stderr.on('data', (data: Buffer) => {
    errors = (errors + data.toString()).slice(-2_000)
  })
  return { child, ended: once(child, 'close'), errors: () => errors }
}

async function untilFinished(crawl: Crawl, mostMs: number, onProgress: (line: string) => void) {
  for (const deadline = performance.now() + mostMs; ; await sleep(CHECK_MS)) {
    const stats = await crawl.stats()
    const soFar = `${stats.done + stats.dead} of ${stats.total} pages`
    onProgress(`${soFar}, ${Math.round(stats.rate)} pages/s`)
    if (stats.state === 'finished') return stats
    if (performance.now() > deadline) throw new TookTooLong(`${soFar} after ${Math.round(mostMs / 1_000)} s`)
  }
}
