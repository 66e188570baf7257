import { randomBytes } from 'node:crypto'
import { type FileHandle, link, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../clock.js'
import { makeDirs } from '../../make-dirs.js'
import { PACK_MAGIC } from '../packs/pack-format.js'
import { IDLE_MS, isPackName, newPackName, PACK_BYTES, type PackInfo, type PackPlace } from '../packs/pack-place.js'
import { filesError, isMissing } from './files-error.js'
import { syncFolder } from './sync-folder.js'

const ENDING = '.pack'
/** A message to the database thread and back costs about 300 µs of CPU, and a page needs two: shared by as many as come within this. */
const GATHER_MS = 25
const ENOUGH_BYTES = 4 * 1024 * 1024

interface OpenPack {
  readonly pack: string
  readonly file: FileHandle
  size: number
  usedAt: number
}

/**
 * Packs as files in the folder `packs`. Each writer appends to a file of its own, so any number of processes may share the folder. A run is on
 * the disk when it is answered for.
 */
export class FilePackPlace implements PackPlace {
  readonly remote = false
  readonly gathering = { ms: GATHER_MS, bytes: ENOUGH_BYTES, runs: 1 }
  readonly #root: string
  readonly #packs: string
  readonly #clock: Clock
  #id: string | null = null
  #opening: Promise<string> | null = null
  #current: OpenPack | null = null
  #writing: Promise<unknown> = Promise.resolve()

  constructor(root: string, clock: Clock) {
    this.#root = root
    this.#packs = join(root, 'packs')
    this.#clock = clock
  }

  async id(): Promise<string | null> {
    this.#id ??= await this.#withErrors(() => readId(this.#root))
    return this.#id
  }

  open(): Promise<string> {
    this.#opening ??= this.#withErrors(async () => {
      makeDirs(this.#packs)
      this.#id = await makeId(this.#root, this.#id ?? randomBytes(4).toString('hex'))
      return this.#id
    }).catch((error: unknown) => {
      this.#opening = null
      throw error
    })
    return this.#opening
  }

  /** One after the other: they share the end of a file. */
  write(run: Uint8Array): Promise<{ pack: string; start: number }> {
    const written = this.#writing.then(() => this.#withErrors(() => this.#append(run)))
    this.#writing = written.catch(() => {})
    return written
  }

  async #append(run: Uint8Array): Promise<{ pack: string; start: number }> {
    for (;;) {
      const current = await this.#packFor()
      try {
        const start = current.size
        await current.file.writeFile(run)
        await current.file.datasync()
        current.size += run.length
        current.usedAt = this.#clock.mono()
        // Somebody may have removed the folder: what was written to a file without a name is gone.
        if ((await current.file.stat()).nlink > 0) return { pack: current.pack, start }
        await this.#leave(current)
      } catch (error) {
        // Its end is unknown now.
        await this.#leave(current)
        throw error
      }
    }
  }

  async #packFor(): Promise<OpenPack> {
    const last = this.#current
    if (last !== null && last.size < PACK_BYTES && this.#clock.mono() - last.usedAt < IDLE_MS) return last
    if (last !== null) await this.#leave(last)
    const id = await this.open()
    // The folder may have been removed: it is the same place all the same, because entries are on their way to the index.
    makeDirs(this.#packs)
    await makeId(this.#root, id)
    const pack = newPackName(this.#clock.now(), randomBytes(8).toString('hex'))
    const file = await open(this.#path(pack), 'ax')
    this.#current = { pack, file, size: PACK_MAGIC.length, usedAt: this.#clock.mono() }
    try {
      await file.writeFile(PACK_MAGIC)
      await syncFolder(this.#packs)
    } catch (error) {
      await this.#leave(this.#current)
      throw error
    }
    return this.#current
  }

  async #leave({ file }: OpenPack): Promise<void> {
    this.#current = null
    await file.close().catch(() => {})
  }

  async read(pack: string, start: number, length: number): Promise<Uint8Array | null> {
    return this.#withErrors(async () => {
      const file = await this.#opened(pack)
      if (file === null) return null
      try {
        const bytes = Buffer.allocUnsafe(length)
        const { bytesRead } = await file.read(bytes, 0, length, start)
        return bytes.subarray(0, bytesRead)
      } finally {
        await file.close()
      }
    })
  }

  async #opened(pack: string): Promise<FileHandle | null> {
    if (!isPackName(pack)) return null
    try {
      return await open(this.#path(pack), 'r')
    } catch (error) {
      if (isMissing(error)) return null
      throw error
    }
  }

  async has(pack: string): Promise<boolean> {
    const found = await stat(this.#path(pack)).catch(() => null)
    return found !== null
  }

  async *list(): AsyncGenerator<PackInfo> {
    const names = await this.#withErrors(() =>
      readdir(this.#packs).catch((error: unknown) => {
        if (isMissing(error)) return []
        throw error
      }),
    )
    for (const name of names) {
      const pack = name.slice(0, -ENDING.length)
      if (!name.endsWith(ENDING) || !isPackName(pack)) continue
      // Compaction may be faster.
      const found = await stat(this.#path(pack)).catch(() => null)
      if (found !== null) yield { pack, bytes: found.size, writtenAt: found.mtimeMs }
    }
  }

  async remove(pack: string): Promise<void> {
    await this.#withErrors(() => rm(this.#path(pack), { force: true }))
  }

  where(pack: string): string {
    return this.#path(pack)
  }

  async close(): Promise<void> {
    await this.#writing
    if (this.#current !== null) await this.#leave(this.#current)
  }

  #path(pack: string): string {
    return join(this.#packs, `${pack}${ENDING}`)
  }

  async #withErrors<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw filesError(error, this.#root)
    }
  }
}

/** A file of the folder itself: when the folder is moved its name goes along, and a new folder in its place has another one. */
async function readId(root: string): Promise<string | null> {
  try {
    const text = (await readFile(join(root, 'place'), 'utf8')).trim()
    return text === '' ? null : text
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** An existing file stays, and so does the first of several created at once: a hard link is created completely or not at all. */
async function makeId(root: string, id: string): Promise<string> {
  const known = await readId(root)
  if (known !== null) return known
  const draft = join(root, `place.${randomBytes(8).toString('hex')}`)
  await writeFile(draft, `${id}\n`, { flag: 'wx' })
  try {
    await link(draft, join(root, 'place'))
    await syncFolder(root)
    return id
  } catch (error) {
    const first = (error as { code?: unknown }).code === 'EEXIST' ? await readId(root) : null
    if (first === null) throw error
    return first
  } finally {
    await rm(draft, { force: true })
  }
}
