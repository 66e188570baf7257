import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/clock.js'
import { isAway } from '../../../src/errors.js'
import type { BlobIndex } from '../../../src/store/blob-index.js'
import type { BlobStore } from '../../../src/store/blob-store.js'
import { MemoryBlobIndex } from '../../../src/store/memory/memory-blob-index.js'
import { SETTLED_MS } from '../../../src/store/packs/pack-place.js'
import { PackedBlobStore } from '../../../src/store/packs/packed-blob-store.js'
import { parseS3 } from '../../../src/store/s3/s3-address.js'
import { S3PackPlace } from '../../../src/store/s3/s3-pack-place.js'
import { blobStoreContract } from '../../contract/blob-store-contract.js'
import { CREDENTIALS, type S3Server, startS3 } from '../../support/s3-server.js'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.js'

let server: S3Server
beforeAll(async () => {
  Object.assign(process.env, CREDENTIALS)
  server = await startS3()
})
afterAll(() => server.end())

const opened: BlobStore[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()))
})

let prefixes = 0
const newPrefix = () => `pages-${++prefixes}`

function openStore(prefix: string, index: BlobIndex, port = server.port, clock: Clock = systemClock): BlobStore {
  const store = new PackedBlobStore(index, new S3PackPlace(parseS3(server.address(prefix, port)), clock), clock)
  opened.push(store)
  return store
}

blobStoreContract('s3', async () => openStore(newPrefix(), new MemoryBlobIndex()))

const pageOf = (n: number) => Buffer.from(`<p>page ${n}</p>`.repeat(50))
const pagesOf = (count: number, from = 0) => Array.from({ length: count }, (_, n) => pageOf(from + n))
const putAll = (store: BlobStore, pages: readonly Buffer[]) =>
  Promise.all(pages.map((one) => store.put(one, 'text/html')))
const readAll = (store: BlobStore, refs: readonly string[]) =>
  Promise.all(refs.map(async (ref) => Buffer.from((await store.get(ref)) ?? []).toString()))
const maintenanceOf = (store: BlobStore) => {
  if (store.maintenance === null) throw new Error('a store of packs has maintenance')
  return store.maintenance
}
const silent = () => {}
const hoursLater: Clock = { ...systemClock, now: () => systemClock.now() + 2 * SETTLED_MS }

describe('packs in S3', () => {
  it('are one object for all pages of a moment', async () => {
    const store = openStore(newPrefix(), new MemoryBlobIndex())
    const refs = await putAll(store, pagesOf(300))
    expect(await maintenanceOf(store).check(silent)).toMatchObject({ packs: 1, pages: 300, idleBytes: 0 })
    expect(await store.locate(refs[0])).toMatch(
      /^s3:\/\/shoal-test\/pages-\d+\/packs\/\d{8}-[0-9a-f]{16}\.pack bytes 52-/,
    )
  })

  it('have one name for everybody who comes later, and another after the bucket was emptied', async () => {
    const prefix = newPrefix()
    const place = () => new S3PackPlace(parseS3(server.address(prefix)), systemClock)
    expect(await place().id()).toBeNull()
    const id = await place().open()
    expect(await place().id()).toBe(id)
    expect(await place().open()).toBe(id)
    await fetch(`${server.endpoint}/shoal-test/${prefix}/place`, { method: 'DELETE' })
    expect(await place().open()).not.toBe(id)
  })

  it('become few large ones, pages readable throughout', async () => {
    const prefix = newPrefix()
    const index = new MemoryBlobIndex()
    const store = openStore(prefix, index, server.port, hoursLater)
    const refs: string[] = []
    for (let n = 0; n < 15; n++) {
      const puts = putAll(store, pagesOf(10, n * 10))
      store.hurry()
      refs.push(...(await puts))
    }
    const reader = openStore(prefix, index)
    let compacting = true
    const reading = (async () => {
      for (let n = 0; compacting; n = (n + 1) % refs.length)
        expect(Buffer.from((await reader.get(refs[n])) ?? []).toString()).toBe(pageOf(n).toString())
    })()
    expect(await maintenanceOf(store).compact(silent)).toMatchObject({ packsBefore: 15, packsAfter: 1, pages: 150 })
    compacting = false
    await reading
    expect(await readAll(reader, refs)).toEqual(pagesOf(150).map(String))
    expect(await maintenanceOf(store).check(silent)).toMatchObject({
      packs: 1,
      pages: 150,
      damaged: [],
      unreferenced: [],
    })
  })

  it('are read ahead by who reads one page after the other, and in one piece by who wants many', async () => {
    const prefix = newPrefix()
    const index = new MemoryBlobIndex()
    const refs = await putAll(openStore(prefix, index), pagesOf(100))
    const reads: number[] = []
    const place = new S3PackPlace(parseS3(server.address(prefix)), systemClock)
    const read = place.read.bind(place)
    place.read = (pack, start, length) => {
      reads.push(length)
      return read(pack, start, length)
    }
    const reader = new PackedBlobStore(index, place, systemClock)
    opened.push(reader)
    expect(await readAll(reader, refs)).toEqual(pagesOf(100).map(String))
    expect(reads.splice(0)).toHaveLength(1)
    const another = new PackedBlobStore(index, place, systemClock)
    for (const [n, ref] of refs.entries())
      expect(Buffer.from((await another.get(ref)) ?? []).toString()).toBe(pageOf(n).toString())
    expect(reads).toHaveLength(2)
  })

  it('stores again what the index knows and the bucket has not', async () => {
    const prefix = newPrefix()
    const index = new MemoryBlobIndex()
    const ref = await openStore(prefix, index).put(pageOf(1), 'text/html')
    const [, key] = /^s3:\/\/(.*\.pack)/.exec((await openStore(prefix, index).locate(ref)) ?? '') ?? []
    await fetch(`${server.endpoint}/${key}`, { method: 'DELETE' })
    expect(await openStore(prefix, index).get(ref)).toBeNull()
    await openStore(prefix, index).put(pageOf(1), 'text/html')
    expect(Buffer.from((await openStore(prefix, index).get(ref)) ?? []).toString()).toBe(pageOf(1).toString())
  })
})

describe('S3 that goes away', () => {
  let proxy: TcpProxy
  afterEach(() => proxy.stop())

  /** As a worker does it: again and again until it is back. */
  async function patiently(store: BlobStore, page: Buffer): Promise<{ ref: string; away: number }> {
    for (let away = 0; ; away++) {
      try {
        return { ref: await store.put(page, 'text/html'), away }
      } catch (error) {
        if (!isAway(error)) throw error
        await systemClock.sleep(100)
      }
    }
  }

  it('is told as away, and nothing that was answered for is lost when it comes back', async () => {
    proxy = await startTcpProxy(server.port)
    const prefix = newPrefix()
    const index = new MemoryBlobIndex()
    const store = openStore(prefix, index, proxy.port)
    await store.ready()
    const puts = pagesOf(60).map(async (page, n) => {
      await systemClock.sleep(n * 20)
      return patiently(store, page)
    })
    await systemClock.sleep(300)
    proxy.refuse(true)
    proxy.reset()
    await systemClock.sleep(1_000)
    proxy.refuse(false)
    const answers = await Promise.all(puts)
    expect(answers.some(({ away }) => away > 0)).toBe(true)
    const reader = openStore(prefix, index)
    expect(
      await readAll(
        reader,
        answers.map(({ ref }) => ref),
      ),
    ).toEqual(pagesOf(60).map(String))
    expect(await maintenanceOf(reader).check(silent)).toMatchObject({ pages: 60, damaged: [] })
  })

  it('is told as out of reach when it is not there to begin with', async () => {
    proxy = await startTcpProxy(server.port)
    proxy.refuse(true)
    const store = openStore(newPrefix(), new MemoryBlobIndex(), proxy.port)
    await expect(store.ready()).rejects.toMatchObject({ code: 'pages_unreachable', next: 'backend', exitCode: 4 })
    proxy.refuse(false)
    await store.ready()
  })

  it('may swallow a reply: the put is repeated and the page is there once', async () => {
    proxy = await startTcpProxy(server.port)
    const prefix = newPrefix()
    const store = openStore(prefix, new MemoryBlobIndex(), proxy.port)
    await store.ready()
    const swallowed = proxy.dropNextReply()
    const put = patiently(store, pageOf(1))
    await swallowed
    const { ref } = await put
    expect(Buffer.from((await store.get(ref)) ?? []).toString()).toBe(pageOf(1).toString())
    expect(await maintenanceOf(store).check(silent)).toMatchObject({ pages: 1, damaged: [] })
  })
})
