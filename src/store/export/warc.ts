import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { BlobStore } from '../blob-store.js'
import type { KeptPage } from '../kept-pages.js'
import { outputError } from '../output-error.js'
import { outputTarget } from './output-target.js'
import { type EarlierRecord, infoRecord, responseRecord, revisitRecord, type WarcRecord } from './warc-record.js'
import { partOf } from './whole-file.js'

const pack = promisify(gzip)

/** What archives commonly hold. */
const ROLL_BYTES = 1_000_000_000
/** Among so many different pages a page that comes again is noticed: 20 MB at most. */
const REMEMBERED_PAGES = 100_000

export interface PageArchive {
  readonly pages: AsyncIterable<KeptPage>
  readonly bodies: Pick<BlobStore, 'get'>
  /** Of the warcinfo record that each file begins with. */
  readonly info: Readonly<Record<string, string>>
  readonly madeAt: number
}

export interface WarcOptions {
  readonly progress?: (pages: number) => void
  readonly signal?: AbortSignal
  readonly rollBytes?: number
}

export interface WarcResult {
  readonly files: readonly string[]
  /** Responses and revisits. */
  readonly pages: number
  /** Of them those whose bytes are in an earlier record. */
  readonly revisits: number
  /** Pages whose bytes are gone from the page store. */
  readonly missing: number
}

/** One archive on a stream that stays open, each record in a gzip member of its own. A reader that closes the stream ends it quietly. */
export async function warcToStream(
  archive: PageArchive,
  sink: Writable,
  options: WarcOptions = {},
): Promise<WarcResult> {
  const records = new Records(archive, options)
  try {
    await send(records.file(Number.POSITIVE_INFINITY, true), sink, false, options)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EPIPE') throw outputError(error, 'the output')
  }
  return { files: [], ...records.tally }
}

/**
 * The same into a file, or into several of about 1 GB that are numbered: `pages-00001.warc.gz`. All of them appear when the last one is
 * whole.
 */
export async function warcToFiles(archive: PageArchive, path: string, options: WarcOptions = {}): Promise<WarcResult> {
  const records = new Records(archive, options)
  const parts: string[] = []
  try {
    const target = await outputTarget(path)
    if (target.kind === 'stream') {
      const file = records.file(Number.POSITIVE_INFINITY, /\.gz$/i.test(path))
      await send(file, createWriteStream(path), true, options)
      return { files: [path], ...records.tally }
    }
    await mkdir(dirname(path), { recursive: true })
    do {
      const part = partOf(path)
      parts.push(part)
      const file = records.file(options.rollBytes ?? ROLL_BYTES, /\.gz$/i.test(path))
      await send(file, createWriteStream(part, { flags: 'wx' }), true, options)
    } while (await records.more())
    const files = parts.length === 1 ? [target.path] : parts.map((_, index) => numbered(path, index + 1))
    for (const [index, part] of parts.entries()) await rename(part, files[index] ?? part)
    return { files, ...records.tally }
  } catch (error) {
    for (const part of parts) await rm(part, { force: true }).catch(() => {})
    throw outputError(error, path)
  }
}

function numbered(path: string, number: number): string {
  const ending = /(?:\.warc)?(?:\.gz)?$|\.\w+$/i.exec(path)?.[0] ?? ''
  return `${path.slice(0, path.length - ending.length)}-${String(number).padStart(5, '0')}${ending}`
}

async function send(
  bytes: AsyncIterable<Uint8Array>,
  sink: Writable,
  end: boolean,
  { signal }: WarcOptions,
): Promise<void> {
  await pipeline(Readable.from(bytes, { highWaterMark: 1 }), sink, { end, ...(signal !== undefined && { signal }) })
}

/** The pages as records, over as many files as it takes. */
class Records {
  readonly tally = { pages: 0, revisits: 0, missing: 0 }
  readonly #archive: PageArchive
  readonly #progress: (pages: number) => void
  readonly #pages: AsyncIterator<KeptPage>
  readonly #earlier = new Map<string, EarlierRecord>()
  #next: Promise<IteratorResult<KeptPage>>

  constructor(archive: PageArchive, { progress = () => {} }: WarcOptions) {
    this.#archive = archive
    this.#progress = progress
    this.#pages = archive.pages[Symbol.asyncIterator]()
    this.#next = this.#pages.next()
    // Reported where it is awaited; it may fail before that.
    this.#next.catch(() => {})
  }

  async more(): Promise<boolean> {
    return (await this.#next).done !== true
  }

  /** Ends with the pages, or after the record with which it reached its size. */
  async *file(rollBytes: number, packed: boolean): AsyncGenerator<Uint8Array> {
    const { info, madeAt } = this.#archive
    const begin = infoRecord(info, madeAt)
    let size = 0
    const piece = async (record: WarcRecord) => {
      const bytes = packed ? await pack(record.bytes) : record.bytes
      size += bytes.length
      return bytes
    }
    yield await piece(begin)
    while (size < rollBytes && (await this.more())) {
      const record = await this.#record((await this.#next).value, begin.id)
      this.#next = this.#pages.next()
      this.#next.catch(() => {})
      if (record !== null) yield await piece(record)
      this.#progress(this.tally.pages)
    }
  }

  async #record(page: KeptPage, info: string): Promise<WarcRecord | null> {
    const earlier = this.#earlier.get(page.page)
    // A write that was repeated logs its fetch twice.
    if (earlier !== undefined && earlier.url === page.url && earlier.at === page.at) return null
    if (earlier !== undefined) {
      this.tally.pages += 1
      this.tally.revisits += 1
      return revisitRecord(page, earlier, info)
    }
    const body = await this.#archive.bodies.get(page.page)
    if (body === null) {
      this.tally.missing += 1
      return null
    }
    this.tally.pages += 1
    this.#remember(page, body.length)
    return responseRecord(page, body, info)
  }

  #remember({ page, url, at }: KeptPage, length: number): void {
    const oldest = this.#earlier.size < REMEMBERED_PAGES ? undefined : this.#earlier.keys().next().value
    if (oldest !== undefined) this.#earlier.delete(oldest)
    this.#earlier.set(page, { url, at, length })
  }
}
