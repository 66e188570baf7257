import { resolve } from 'node:path'
import { systemClock, systemRandom } from '../clock.js'
import { loadConfig } from '../config.js'
import { openCrawl } from '../coordinator/crawls.js'
import { knownProxies } from '../coordinator/proxies.js'
import { ShoalError } from '../errors.js'
import { createLog } from '../log.js'
import { surprisingAddressLines } from '../run/address-lines.js'
import { asArguments } from '../spider/arguments.js'
import type { DefinedSpider, RecordDefinitions, TaggedBuilder, TaggedDefinition } from '../spider/definition.js'
import { loadSpider } from '../spider/load.js'
import { spiderFromDefinition } from '../spider/resolve.js'
import { openBackends } from '../wire/backends.js'
import { crawlHandle } from './crawl-handle.js'
import { seedCrawl } from './seed-crawl.js'
import type { ConnectOptions, CrawlOptions, Shoal } from './shoal.js'

export async function openShoal(options: ConnectOptions): Promise<Shoal> {
  const settings = loadConfig({ flags: { ...options }, env: process.env })
  const clock = systemClock
  const random = systemRandom
  const log = createLog(settings.logLevel, clock, (line) => process.stderr.write(line))
  // The program may have these variables for something else.
  for (const message of surprisingAddressLines(settings)) log.warn('backend.warning', { message })
  const backends = await openBackends(settings, { clock })
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const { frontier, store } = backends
  let closed: Promise<void> | null = null

  return {
    frontier,
    store,

    async crawl<Kinds extends RecordDefinitions, Data, Args>(
      given: TaggedDefinition<Kinds, Data> | TaggedBuilder<Kinds, Data, Args> | string,
      { fresh = false, start = true, args: givenArgs }: CrawlOptions<Args> = {},
    ) {
      if (closing.signal.aborted) throw new ShoalError('closed', 'this connection was closed')
      const args = asArguments(givenArgs)
      const spider =
        typeof given === 'string'
          ? await loadSpider(resolve(given), args)
          : spiderFromDefinition(given as DefinedSpider, args)
      const { crawl: id } = await openCrawl(backends, spider, {
        ...{ fresh, clock, random },
        proxies: await knownProxies(backends.notes, spider),
      })
      const parts = { id, spider, backends, settings, clock, random, log, closing: closing.signal, running }
      const seeding = start ? seedCrawl(parts) : null
      const crawl = crawlHandle<Kinds, Data>(parts, seeding?.all ?? null)
      await seeding?.first
      return crawl
    },

    close() {
      closing.abort()
      closed ??= Promise.allSettled(running).then(() => backends.close())
      return closed
    },
  }
}
