import type { Clock } from '../../clock.js'
import type { BlobEntry, BlobIndex } from '../blob-index.js'
import type { BlobRef, BlobStore } from '../blob-store.js'
import type { PackMaintenance } from '../pack-maintenance.js'
import { hashIn, packed, sha256 } from './codec.js'
import { dialled } from './dialled.js'
import { packMaintenance } from './maintenance.js'
import type { PackedPage } from './pack-format.js'
import type { PackPlace } from './pack-place.js'
import { PackReader } from './pack-reader.js'
import { Remembered } from './remembered.js'
import { writeRun } from './write-run.js'

/** Pages known to be stored, so that the navigation of a site that answers every wrong URL alike costs nothing: 150 bytes each. */
const KNOWN_PAGES = 20_000
/** Packs known to be there. */
const KNOWN_PACKS = 2_000
const PACKED_AT_ONCE = 16
const CLOSE_MS = 5_000

interface Waiting {
  readonly hash: string
  readonly page: Uint8Array
  readonly type: string
  /** Whoever put these bytes. */
  readonly callers: { readonly resolve: (ref: BlobRef) => void; readonly reject: (error: unknown) => void }[]
}

/**
 * Raw pages in packs. Puts of a moment share one write and two calls of the index, and each waits for its own: bytes first, then the
 * entries. A death in between leaves bytes that nobody points to, and loses nothing that was answered for.
 */
export class PackedBlobStore implements BlobStore {
  readonly maintenance: PackMaintenance
  readonly #index: BlobIndex
  readonly #place: PackPlace
  readonly #clock: Clock
  readonly #reader: PackReader
  readonly #knownPages = new Remembered(KNOWN_PAGES)
  readonly #knownPacks = new Remembered(KNOWN_PACKS)
  /** All puts that have no answer yet, by hash. */
  readonly #waiting = new Map<string, Waiting>()
  #gathered: Waiting[] = []
  #gatheredBytes = 0
  /** What is gathered waits for nobody any more. */
  #due = false
  #cancelGather: (() => void) | null = null
  readonly #runs = new Set<Promise<void>>()

  constructor(index: BlobIndex, place: PackPlace, clock: Clock) {
    this.#index = index
    this.#place = place
    this.#clock = clock
    this.#reader = new PackReader(index, place)
    this.maintenance = packMaintenance(index, place, clock)
  }

  async ready(): Promise<void> {
    if (this.#place.remote) await dialled(() => this.#place.open())
  }

  async put(page: Uint8Array, type: string): Promise<BlobRef> {
    const hash = sha256(page)
    if (this.#knownPages.has(hash)) return refOf(hash)
    const same = this.#waiting.get(hash)
    return new Promise((resolve, reject) => {
      if (same !== undefined) same.callers.push({ resolve, reject })
      else this.#gather({ hash, page, type, callers: [{ resolve, reject }] })
    })
  }

  #gather(waiting: Waiting): void {
    this.#waiting.set(waiting.hash, waiting)
    this.#gathered.push(waiting)
    this.#gatheredBytes += waiting.page.length
    const { bytes, ms } = this.#place.gathering
    if (this.#gatheredBytes >= bytes) this.hurry()
    else this.#cancelGather ??= this.#clock.after(ms, () => this.hurry())
  }

  hurry(): void {
    this.#due = true
    // In a microtask: what else is put in this turn of the event loop comes along.
    queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    if (!this.#due || this.#gathered.length === 0 || this.#runs.size >= this.#place.gathering.runs) return
    const batch = this.#gathered
    this.#gathered = []
    this.#gatheredBytes = 0
    this.#due = false
    this.#cancelGather?.()
    this.#cancelGather = null
    const run = this.#store(batch).then(() => {
      this.#runs.delete(run)
      this.#flush()
    })
    this.#runs.add(run)
  }

  async #store(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#storeNew(batch)
      for (const { hash, callers } of batch) {
        this.#waiting.delete(hash)
        this.#knownPages.add(hash)
        for (const { resolve } of callers) resolve(refOf(hash))
      }
    } catch (error) {
      for (const { hash, callers } of batch) {
        this.#waiting.delete(hash)
        for (const { reject } of callers) reject(error)
      }
    }
  }

  async #storeNew(batch: readonly Waiting[]): Promise<void> {
    const place = await this.#place.open()
    const hashes = batch.map(({ hash }) => hash)
    const found = await this.#index.find(place, hashes)
    const gone = await this.#gonePacks([...found.values()])
    const unknown = batch.filter(({ hash }) => gone.has(found.get(hash)?.pack ?? null))
    if (unknown.length === 0) return
    const pages = await packAll(unknown)
    const entries = await writeRun(this.#place, pages)
    for (const { pack } of entries.slice(0, 1)) this.#knownPacks.add(pack)
    await this.#index.add(place, entries)
    // Entries that point into a pack that is gone are replaced.
    const moves = entries.flatMap((to) => {
      const from = found.get(to.hash)
      return from === undefined ? [] : [{ from, to }]
    })
    if (moves.length > 0) await this.#index.move(place, moves)
  }

  /** Names of those packs that are not there any more; null, the pack of a page that has none, is among them. */
  async #gonePacks(entries: readonly BlobEntry[]): Promise<Set<string | null>> {
    const gone = new Set<string | null>([null])
    const unsure = new Set(entries.map(({ pack }) => pack).filter((pack) => !this.#knownPacks.has(pack)))
    await Promise.all(
      [...unsure].map(async (pack) => {
        if (await this.#place.has(pack)) this.#knownPacks.add(pack)
        else gone.add(pack)
      }),
    )
    return gone
  }

  async get(ref: BlobRef): Promise<Uint8Array | null> {
    const hash = hashIn(ref)
    return hash === null ? null : this.#reader.read(hash)
  }

  async has(ref: BlobRef): Promise<boolean> {
    const hash = hashIn(ref)
    const entry = hash === null ? null : await this.#reader.find(hash)
    return entry !== null && !(await this.#gonePacks([entry])).has(entry.pack)
  }

  async locate(ref: BlobRef): Promise<string | null> {
    const hash = hashIn(ref)
    const entry = hash === null ? null : await this.#reader.find(hash)
    if (entry === null || !(await this.#place.has(entry.pack))) return null
    const { pack, start, length, codec } = entry
    return `${this.#place.where(pack)} bytes ${start}-${start + length - 1} (${codec === 'br' ? 'brotli' : 'as it is'})`
  }

  /** Writes what is collected, unless the place takes too long: the callers have given up by then. */
  async close(): Promise<void> {
    const done = new AbortController()
    await Promise.race([this.#drain(), this.#clock.sleep(CLOSE_MS, done.signal)])
    done.abort()
    await this.#place.close()
  }

  async #drain(): Promise<void> {
    while (this.#gathered.length > 0 || this.#runs.size > 0) {
      this.hurry()
      await Promise.resolve()
      await Promise.all(this.#runs)
    }
  }
}

/** A few at a time, so that the event loop turns in between. */
async function packAll(waiting: readonly Waiting[]): Promise<PackedPage[]> {
  const pages: PackedPage[] = []
  for (let first = 0; first < waiting.length; first += PACKED_AT_ONCE) {
    const some = waiting.slice(first, first + PACKED_AT_ONCE)
    pages.push(...(await Promise.all(some.map(({ hash, page, type }) => packed(hash, page, type)))))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return pages
}

function refOf(hash: string): BlobRef {
  return `sha256:${hash}`
}
