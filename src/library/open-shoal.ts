import { resolve } from 'node:path'
import { systemClock, systemRandom } from '../clock.js'
import { loadConfig } from '../config.js'
import { addToCrawl } from '../coordinator/add-entries.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownExits } from '../coordinator/exits.js'
import type { SeedSource } from '../coordinator/seed-source.js'
import { ShoalError } from '../errors.js'
import { createLog } from '../log.js'
import { poolsAtHand } from '../run/pools-at-hand.js'
import { seedOptions } from '../run/seed-options.js'
import type { RecordDefinitions, TaggedDefinition } from '../spider/definition.js'
import { loadSpider } from '../spider/load.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import type { Spider } from '../spider/spider.js'
import { openPlant } from '../wire.js'
import { crawlHandle } from './crawl-handle.js'
import type { ConnectOptions, CrawlOptions, Shoal } from './shoal.js'

export async function openShoal(options: ConnectOptions): Promise<Shoal> {
  const settings = loadConfig({ flags: { ...options }, env: process.env })
  const clock = systemClock
  const random = systemRandom
  const log = createLog(settings.logLevel, clock, (line) => process.stderr.write(line))
  const plant = await openPlant(settings, { clock })
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const { frontier, store } = plant
  let closed: Promise<void> | null = null

  const addSeeds = async (spider: Spider, crawl: string) => {
    const onRefused = (_entry: unknown, reason: string) => log.warn('link.refused', { spider: spider.name, reason })
    const add = (source: SeedSource) => addToCrawl(frontier, spider, crawl, source, { again: false, clock, onRefused })
    if (spider.seeds !== null) await add({ name: 'seeds', entries: spider.seeds })
    if (spider.sources.length === 0) return
    const { sources = [], groups = [] } = seedOptions(undefined, {
      ...{ plant, spider, crawl, pools: poolsAtHand(settings, [spider]), clock, random, log, signal: closing.signal },
    })
    for (const source of sources) await add(source)
    // No cursors here: what was added before is known.
    const notes = new Map<string, number>()
    for (const group of groups) {
      const found = group.sources({
        get: async (name) => notes.get(name) ?? 0,
        set: async (name, value) => void notes.set(name, value),
      })
      for await (const source of found) await add(source)
    }
  }

  return {
    frontier,
    store,

    async crawl<Kinds extends RecordDefinitions, Data>(
      given: TaggedDefinition<Kinds, Data> | string,
      { fresh = false, start = true }: CrawlOptions = {},
    ) {
      if (closing.signal.aborted) throw new ShoalError('closed', 'this connection was closed')
      const spider =
        typeof given === 'string' ? await loadSpider(resolve(given)) : spiderFromDefinition(given as TaggedDefinition)
      const { crawl: id } = await openCrawl(plant, spider, {
        ...{ fresh, clock, random },
        exits: await knownExits(plant.board, spider),
      })
      const { queue, concurrency, graceMs } = settings
      const parts = {
        id,
        spider,
        plant,
        queue,
        proxies: settings,
        browser: settings,
        clock,
        random,
        log,
        concurrency,
        graceMs,
        closing: closing.signal,
        running,
      }
      const crawl = crawlHandle<Kinds, Data>(parts)
      if (start) {
        await crawl.add(spider.start)
        await addSeeds(spider, id)
      }
      return crawl
    },

    close() {
      closing.abort()
      closed ??= Promise.allSettled(running).then(() => plant.close())
      return closed
    },
  }
}
