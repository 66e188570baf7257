import { mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FileBlobStore } from '../../src/store/files/file-blob-store.js'
import { MemoryBlobStore } from '../../src/store/memory/memory-blob-store.js'
import { blobStoreContract } from '../contract/blob-store-contract.js'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shoal-blobs-'))
})
afterAll(() => rm(dir, { recursive: true }))

const open = async () => new FileBlobStore(await mkdtemp(join(dir, 'store-')))
blobStoreContract('files', open)
blobStoreContract('memory', async () => new MemoryBlobStore())

describe('files: blob store', () => {
  const page = Buffer.from('<p>text</p>'.repeat(2000))

  async function files(root: string): Promise<string[]> {
    const entries = await readdir(root, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  }

  it('packs text, leaves one file in a sharded folder and writes it once', async () => {
    const root = await mkdtemp(join(dir, 'one-'))
    const store = new FileBlobStore(root)
    const ref = await store.put(page, 'text/html')
    const hash = ref.slice('sha256:'.length)
    const [file, ...others] = await files(root)
    expect(others).toEqual([])
    expect(file).toBe(join(root, hash.slice(0, 2), hash.slice(2, 4), `${hash}.br`))
    const first = await stat(file)
    expect(first.size).toBeLessThan(page.length / 10)
    await store.put(page, 'text/html')
    expect((await stat(file)).ino).toBe(first.ino)
  })

  it('takes a damaged file for an absent one, and mends an empty one', async () => {
    const root = await mkdtemp(join(dir, 'damaged-'))
    const store = new FileBlobStore(root)
    const ref = await store.put(page, 'text/html')
    const [file] = await files(root)
    await writeFile(file, 'garbage')
    expect(await store.get(ref)).toBeNull()
    await truncate(file, 0)
    await store.put(page, 'text/html')
    expect(await store.get(ref)).toEqual(page)
  })

  it('says that the directory cannot be used', async () => {
    const root = join(dir, 'a-file')
    await writeFile(root, '')
    await expect(new FileBlobStore(root).put(page, 'text/html')).rejects.toMatchObject({
      code: 'blobs_unwritable',
      next: 'plant',
    })
  })
})
