import { resolve } from 'node:path'
import { systemClock, systemRandom } from '../clock.js'
import { loadConfig } from '../config.js'
import { addToCrawl } from '../coordinator/add-entries.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownExits } from '../coordinator/exits.js'
import { ShoalError } from '../errors.js'
import { createLog } from '../log.js'
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

  const addSeeds = async (spider: Spider, entries: NonNullable<Spider['seeds']>, crawl: string) => {
    const onRefused = (_entry: unknown, reason: string) => log.warn('link.refused', { spider: spider.name, reason })
    await addToCrawl(frontier, spider, crawl, { name: 'seeds', entries }, { again: false, clock, onRefused })
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
        if (spider.seeds !== null) await addSeeds(spider, spider.seeds, id)
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
