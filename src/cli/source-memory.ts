import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SpiderSource } from '../run/run-crawl.js'
import { fileOf } from './session.js'

/**
 * Where the spider of a crawl came from, kept beside the database by the commands that run crawls: `explain` takes a URL through the
 * same door without being told the file again. A loss costs a --spider.
 */
export function rememberSource(queue: string, spider: string, source: SpiderSource): void {
  const file = memoryOf(queue)
  if (file === null || !existsSync(dirname(file))) return
  const known = readSources(file)
  if (JSON.stringify(known[spider]) === JSON.stringify(source)) return
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify({ ...known, [spider]: source }, null, 2)}\n`)
    renameSync(`${file}.new`, file)
  } catch {
    // Not worth failing a crawl: a disk that is full or read-only will be told by the database.
  }
}

export function rememberedSource(queue: string, spider: string): SpiderSource | null {
  const file = memoryOf(queue)
  return file === null ? null : (readSources(file)[spider] ?? null)
}

function memoryOf(queue: string): string | null {
  const file = fileOf(queue)
  return file === null ? null : join(dirname(file), 'spiders.json')
}

function readSources(file: string): Record<string, SpiderSource> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, SpiderSource>
  } catch {
    return {}
  }
}
