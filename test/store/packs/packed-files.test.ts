import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, open, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import type { BlobIndex } from '../../../src/store/blob-index.js'
import type { BlobStore } from '../../../src/store/blob-store.js'
import { FilePackPlace } from '../../../src/store/files/file-pack-place.js'
import { MemoryBlobIndex } from '../../../src/store/memory/memory-blob-index.js'
import { MemoryBlobStore } from '../../../src/store/memory/memory-blob-store.js'
import { IDLE_MS } from '../../../src/store/packs/pack-place.js'
import { PackedBlobStore } from '../../../src/store/packs/packed-blob-store.js'
import { blobStoreContract } from '../../contract/blob-store-contract.js'
import { runs } from '../../support/longer.js'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shoal-packs-'))
})
afterAll(() => rm(dir, { recursive: true }))

const newRoot = () => mkdtemp(join(dir, 'pages-'))
const opened: BlobStore[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
})

function openStore(root: string, index: BlobIndex): BlobStore {
  const packs = new PackedBlobStore(index, new FilePackPlace(root, systemClock), systemClock)
  opened.push(packs)
  return packs
}

/** A few hundred bytes that become as many zeros as you like. */
const bombOf = (bytes: number) =>
  brotliCompressSync(Buffer.alloc(bytes), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })

blobStoreContract('memory', async () => new MemoryBlobStore())
blobStoreContract('files', async () => openStore(await newRoot(), new MemoryBlobIndex()))

const page = Buffer.from('<p>text</p>'.repeat(2000))
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => Buffer.from(`<p>page ${from + n}</p>`.repeat(50)))
const putAll = (store: BlobStore, pages: readonly Buffer[]) =>
  Promise.all(pages.map((one) => store.put(one, 'text/html')))
const readAll = (store: BlobStore, refs: readonly string[]) =>
  Promise.all(refs.map(async (ref) => Buffer.from((await store.get(ref)) ?? []).toString()))
const maintenanceOf = (store: BlobStore) => {
  if (store.maintenance === null) throw new Error('a store of packs has maintenance')
  return store.maintenance
}
const silent = () => {}

async function packsIn(root: string): Promise<string[]> {
  const names = await readdir(join(root, 'packs')).catch(() => [])
  return names.map((name) => join(root, 'packs', name))
}

/** As if they had been written long ago. */
async function age(root: string): Promise<void> {
  for (const pack of await packsIn(root)) await utimes(pack, 1, 1)
}

describe('packs in files', () => {
  it('takes a few bytes more than the packed pages, in one file, each content once', async () => {
    const root = await newRoot()
    const store = openStore(root, new MemoryBlobIndex())
    await putAll(store, [page, page, ...many(50)])
    await putAll(store, [page, ...many(50)])
    await store.close()
    const [pack, ...others] = await packsIn(root)
    expect(others).toEqual([])
    const packed = [page, ...many(50)].reduce((sum, one) => sum + brotliCompressSync(one).length, 0)
    expect((await stat(pack)).size).toBeLessThan(packed + 51 * 80)
  })

  it('is read by another process as soon as a put has answered', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    const [writer, reader] = [openStore(root, index), openStore(root, index)]
    expect(await reader.get(`sha256:${'0'.repeat(64)}`)).toBeNull()
    const ref = await writer.put(page, 'text/html')
    expect(await reader.get(ref)).toEqual(page)
    expect(await reader.locate(ref)).toMatch(/packs\/\d{8}-[0-9a-f]{16}\.pack bytes 52-\d+ \(brotli\)$/)
  })

  it('makes nothing where it only looks', async () => {
    const root = join(await newRoot(), 'never')
    const store = openStore(root, new MemoryBlobIndex())
    expect(await store.get(`sha256:${'0'.repeat(64)}`)).toBeNull()
    expect(await maintenanceOf(store).check(silent)).toMatchObject({ packs: 0, pages: 0 })
    await store.close()
    await expect(stat(root)).rejects.toThrow('ENOENT')
  })

  it('gives one folder one name, however many begin at once, and another folder another', async () => {
    const root = await newRoot()
    const ids = await Promise.all(Array.from({ length: 8 }, () => new FilePackPlace(root, systemClock).open()))
    expect(new Set(ids).size).toBe(1)
    expect(await new FilePackPlace(await newRoot(), systemClock).open()).not.toBe(ids[0])
    expect((await readdir(root)).sort()).toEqual(['packs', 'place'])
  })

  it('keeps the same page in each of two folders with one index', async () => {
    const index = new MemoryBlobIndex()
    const stores = [openStore(await newRoot(), index), openStore(await newRoot(), index)]
    for (const store of stores) expect(await store.get(await store.put(page, 'text/html'))).toEqual(page)
  })

  it('says that the folder cannot be used, and takes a put again when it can', async () => {
    const root = join(dir, 'a-file')
    await writeFile(root, '')
    const store = openStore(root, new MemoryBlobIndex())
    await expect(store.put(page, 'text/html')).rejects.toMatchObject({ code: 'blobs_unwritable', next: 'backend' })
    await rm(root)
    expect(await store.get(await store.put(page, 'text/html'))).toEqual(page)
  })

  it('goes on in the same place when its folder was removed, and stores again what was in it', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    const store = openStore(root, index)
    const refs = await putAll(store, many(5))
    await rm(root, { recursive: true })
    const later = await store.put(page, 'text/html')
    await store.close()
    const next = openStore(root, index)
    expect(await next.get(later)).toEqual(page)
    expect(await next.get(refs[0])).toBeNull()
    await putAll(next, many(5))
    expect(await readAll(next, refs)).toEqual(many(5).map(String))
  })

  it('begins a new pack after a long pause, so that compaction never takes one that is written', async () => {
    const root = await newRoot()
    const clock = new ManualClock()
    const place = new FilePackPlace(root, clock)
    const first = await place.write(page)
    clock.advance(IDLE_MS - 1)
    expect((await place.write(page)).pack).toBe(first.pack)
    clock.advance(IDLE_MS)
    expect((await place.write(page)).pack).not.toBe(first.pack)
    await place.close()
  })
})

describe('damage', () => {
  it('takes a damaged page for an absent one, and leaves its neighbours alone', async () => {
    const root = await newRoot()
    const store = openStore(root, new MemoryBlobIndex())
    const refs = await putAll(store, many(3))
    const [pack] = await packsIn(root)
    const file = await open(pack, 'r+')
    // The last bytes of the first page: 8 of magic, 44 of head, and what the locator says.
    const end = Number(/-(\d+) \(/.exec((await store.locate(refs[0])) ?? '')?.[1])
    await file.write(Buffer.from([255, 255, 255]), 0, 3, end - 4)
    await file.close()
    expect(await store.get(refs[0])).toBeNull()
    expect(await readAll(store, refs.slice(1))).toEqual(many(2, 1).map(String))
  })

  it('never unpacks more than was promised', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    const place = new FilePackPlace(root, systemClock)
    const id = await place.open()
    const bomb = bombOf(100 * 1024 * 1024)
    const { pack, start } = await place.write(bomb)
    await place.close()
    const hash = createHash('sha256').update(page).digest('hex')
    await index.add(id, [{ hash, pack, start, length: bomb.length, codec: 'br', bytes: page.length }])
    const before = process.memoryUsage.rss()
    expect(await openStore(root, index).get(`sha256:${hash}`)).toBeNull()
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * 1024 * 1024)
  })

  it('is found by check, and forgotten on demand, so that the page is stored again', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    const store = openStore(root, index)
    const refs = await putAll(store, many(20))
    await store.close()
    const [pack] = await packsIn(root)
    // A head in the middle is overwritten: the page before it is sound, those behind are found by the index alone.
    const start = Number(/bytes (\d+)-/.exec((await openStore(root, index).locate(refs[10])) ?? '')?.[1])
    const file = await open(pack, 'r+')
    await file.write(Buffer.alloc(60, 7), 0, 60, start - 44)
    await file.close()
    const next = openStore(root, index)
    const found = await maintenanceOf(next).check(silent)
    expect(found).toMatchObject({ packs: 1, pages: 19, damaged: [{ hash: refs[10].slice(7) }], unreferenced: [] })
    await maintenanceOf(next).clean(found)
    const again = await next.put(many(20)[10], 'text/html')
    expect(again).toBe(refs[10])
    expect(await readAll(next, refs)).toEqual(many(20).map(String))
    expect(await maintenanceOf(next).check(silent)).toMatchObject({ pages: 20, damaged: [] })
  })

  it('of a pack that is gone is found as well', async () => {
    const root = await newRoot()
    const store = openStore(root, new MemoryBlobIndex())
    await putAll(store, many(4))
    await rm((await packsIn(root))[0])
    expect((await maintenanceOf(store).check(silent)).damaged).toHaveLength(4)
  })
})

/** Its entries never arrive, as when the process dies after the pack was written. */
function diesBeforeIndex(index: BlobIndex): BlobIndex {
  return {
    find: (place, hashes) => index.find(place, hashes),
    add: async () => {
      throw new ShoalError('queue_down', 'the index is away')
    },
    move: (place, moves) => index.move(place, moves),
    remove: (place, entries) => index.remove(place, entries),
    after: (place, hash, limit) => index.after(place, hash, limit),
  }
}

describe('maintenance', () => {
  it('finds a pack that nobody points to, when it is old enough, and deletes it on demand', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    await expect(openStore(root, diesBeforeIndex(index)).put(page, 'text/html')).rejects.toThrow('away')
    const store = openStore(root, index)
    const ref = await store.put(page, 'text/html')
    const young = await maintenanceOf(store).check(silent)
    expect(young).toMatchObject({ packs: 2, pages: 1, unreferenced: [] })
    expect(young.idleBytes).toBeGreaterThan(0)
    await age(root)
    const found = await maintenanceOf(store).check(silent)
    expect(found.unreferenced).toHaveLength(1)
    await maintenanceOf(store).clean(found)
    expect(await packsIn(root)).toHaveLength(1)
    expect(await store.get(ref)).toEqual(page)
  })

  it('does not delete a pack that was pointed to meanwhile', async () => {
    const root = await newRoot()
    const store = openStore(root, new MemoryBlobIndex())
    const ref = await store.put(page, 'text/html')
    const [path] = await packsIn(root)
    const pack = { pack: path.replace(/.*\/|\.pack$/g, ''), bytes: (await stat(path)).size, where: path }
    await maintenanceOf(store).clean({ unreferenced: [pack], damaged: [] })
    expect(await store.get(ref)).toEqual(page)
  })

  it('makes one pack of many small ones, and every page can be read at every moment', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    const refs: string[] = []
    for (let n = 0; n < 20; n++) {
      const one = openStore(root, index)
      refs.push(...(await putAll(one, many(10, n * 10))))
      await one.close()
    }
    await age(root)
    const damagedPack = (await packsIn(root)).toSorted()[0]
    await appendFile(damagedPack, 'torn')
    await age(root)
    const store = openStore(root, index)
    const reader = openStore(root, index)
    let reading = true
    let reads = 0
    const readers = (async () => {
      for (; reading; reads++) {
        const at = reads % refs.length
        expect(Buffer.from((await reader.get(refs[at])) ?? []).toString()).toBe(String(many(1, at)[0]))
      }
    })()
    const done = await maintenanceOf(store).compact(silent)
    reading = false
    await readers
    expect(reads).toBeGreaterThan(0)
    // A torn pack is left alone.
    expect(done).toMatchObject({ packsBefore: 20, packsAfter: 2, pages: 190 })
    expect(await readAll(store, refs)).toEqual(many(200).map(String))
    expect(await maintenanceOf(store).check(silent)).toMatchObject({ packs: 2, pages: 200, damaged: [] })
    expect(await maintenanceOf(store).compact(silent)).toMatchObject({ pages: 0 })
  })

  it('leaves alone what may still be written', async () => {
    const root = await newRoot()
    const index = new MemoryBlobIndex()
    for (let n = 0; n < 3; n++) await putAll(openStore(root, index), many(2, n * 2))
    expect(await maintenanceOf(openStore(root, index)).compact(silent)).toMatchObject({ packsAfter: 3, pages: 0 })
  })
})

describe('packs under fire', () => {
  const pages = fc.array(fc.nat(40), { minLength: 1, maxLength: 10 })
  /** What three stores put at once, what one puts that dies before its entries are known, and whether older packs are compacted meanwhile. */
  const round = fc.record({ puts: fc.array(pages, { minLength: 3, maxLength: 3 }), dies: pages, compact: fc.boolean() })
  const content = (n: number) => Buffer.from(`${n}:`.repeat((n * n * 97) % 5000))

  it('give back every page that was answered for, whoever put it and whatever died', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
        const root = await newRoot()
        const index = new MemoryBlobIndex()
        const answered = new Map<number, string>()
        const put = async (store: BlobStore, n: number) => {
          const ref = await store.put(content(n), n % 3 === 0 ? 'image/png' : 'text/html')
          answered.set(n, ref)
          expect(Buffer.from((await store.get(ref)) ?? 'nothing')).toEqual(content(n))
        }
        for (const { puts, dies, compact } of rounds) {
          await age(root)
          const stores = puts.map(() => openStore(root, index))
          const dying = openStore(root, diesBeforeIndex(index))
          await Promise.all([
            ...puts.flatMap((some, at) => some.map((n) => put(stores[at], n))),
            ...dies.map((n) => dying.put(content(n), 'text/html').catch(() => {})),
            ...(compact ? [maintenanceOf(openStore(root, index)).compact(silent)] : []),
          ])
          await Promise.all([...stores, dying].map((store) => store.close()))
        }
        const last = openStore(root, index)
        for (const [n, ref] of answered) expect(Buffer.from((await last.get(ref)) ?? 'nothing')).toEqual(content(n))
        expect(await maintenanceOf(last).check(silent)).toMatchObject({ pages: answered.size, damaged: [] })
      }),
      { numRuns: runs(5) },
    )
  })
})
