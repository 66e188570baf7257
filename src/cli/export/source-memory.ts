import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { CrawlArgs, CrawlInfo } from '../../frontier/frontier.js'
import type { SpiderSource } from '../../run/spider-source.js'
import type { Spider } from '../../spider/spider.js'
import type { BackendAddresses } from '../../wire/backends.js'
import { fileOf } from '../session.js'

/**
 * Where the spider of a crawl came from, stored next to the database by the commands that run crawls. `explain` can then check a URL
 * against the same rules without --spider. Losing the file costs no more than that flag.
 */
export function rememberSource(backends: BackendAddresses, spider: string, source: SpiderSource): void {
  const file = memoryOf(backends)
  if (file === null || !existsSync(dirname(file))) return
  const known = readSources(file)
  if (JSON.stringify(known[spider]) === JSON.stringify(source)) return
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify({ ...known, [spider]: source }, null, 2)}\n`)
    renameSync(`${file}.new`, file)
  } catch {
    // Not worth failing a crawl: the database will report a disk that is full or read-only.
  }
}

/**
 * The spider as it is now; null when it is not remembered, or its file is gone or broken. `args`: those of a crawl, instead of those that it was last
 * loaded with.
 */
export async function rememberedSpider(
  backends: BackendAddresses,
  spider: string,
  args?: CrawlArgs,
): Promise<Spider | null> {
  const file = memoryOf(backends)
  const source = file === null ? undefined : readSources(file)[spider]
  if (source === undefined) return null
  try {
    const { spiderFrom } = await import('../../run/spider-source.js')
    return await spiderFrom(source.kind === 'file' && args !== undefined ? { ...source, args } : source)
  } catch {
    return null
  }
}

/** The spider of a crawl, built with the arguments of the crawl. */
export function spiderOfCrawl(backends: BackendAddresses, { spider, args = {} }: CrawlInfo): Promise<Spider | null> {
  return rememberedSpider(backends, spider, args)
}

function memoryOf({ queue, store }: BackendAddresses): string | null {
  const file = fileOf(queue) ?? fileOf(store)
  return file === null ? null : join(dirname(file), 'spiders.json')
}

function readSources(file: string): Record<string, SpiderSource> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, SpiderSource>
  } catch {
    return {}
  }
}
