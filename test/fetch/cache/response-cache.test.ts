import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { clearFolder, prepareFolder, sizeOfFolder } from '../../../src/fetch/cache/cache-folder.js'
import type { CacheableRequest } from '../../../src/fetch/cache/cache-key.js'
import { decodeEntry, encodeEntry } from '../../../src/fetch/cache/entry.js'
import { openResponseCache } from '../../../src/fetch/cache/response-cache.js'
import type { FetchResponse } from '../../../src/fetch/fetcher.js'

const REQUEST: CacheableRequest = { url: 'https://site.test/', session: null, country: null }
const PAGE: FetchResponse = {
  url: 'https://site.test/',
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8', etag: '"1"' },
  cookies: ['session=verysecret; HttpOnly'],
  body: Buffer.from('<h1>Tome — 1</h1>'),
  wireBytes: 12,
  ms: 34,
}

let folder = ''
let above = ''
beforeEach(async () => {
  above = await mkdtemp(join(tmpdir(), 'shoal-cache-'))
  folder = join(above, 'deep', 'cache')
})
afterEach(() => rm(above, { recursive: true, force: true }))

async function opened({ maxAgeMs = null }: { maxAgeMs?: number | null } = {}) {
  await prepareFolder(folder)
  const clock = new ManualClock()
  const problems: string[] = []
  const onUnwritable = (reason: string) => void problems.push(reason)
  return { clock, problems, cache: openResponseCache({ folder, maxAgeMs, clock, onUnwritable }) }
}

/** The files of all entries. */
async function entries(): Promise<string[]> {
  const shelves = (await readdir(folder)).filter((name) => name.length === 2)
  const found = await Promise.all(
    shelves.map(async (shelf) => (await readdir(join(folder, shelf))).map((name) => join(folder, shelf, name))),
  )
  return found.flat()
}

it('gives a response back as it was, for nothing, and without its cookies', async () => {
  const { cache, clock } = await opened()
  expect(await cache.find(REQUEST)).toBeNull()
  await cache.keep(REQUEST, PAGE)
  const at = clock.now()
  await clock.advance(5_000)
  const found = await cache.find(REQUEST)
  expect(found).toEqual({ ...PAGE, cookies: [], wireBytes: 0, ms: 0, cached: { at, wireBytes: 12, ms: 34 } })
  for (const path of await entries()) expect(await readFile(path, 'latin1')).not.toContain('verysecret')
})

it('keeps what rendering loaded, but no screenshot', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, { ...PAGE, rendered: { requests: 7, bytes: 999, screenshot: Buffer.from('jpeg') } })
  expect((await cache.find(REQUEST))?.rendered).toEqual({ requests: 7, bytes: 999, screenshot: null })
})

it('keeps only what the site would answer tomorrow too', async () => {
  const { cache } = await opened()
  const kept: number[] = []
  for (const status of [200, 204, 206, 301, 302, 304, 307, 400, 401, 403, 404, 407, 410, 429, 500, 502, 503]) {
    const request = { ...REQUEST, url: `https://site.test/${status}` }
    await cache.keep(request, { ...PAGE, status })
    if ((await cache.find(request)) !== null) kept.push(status)
  }
  expect(kept).toEqual([200, 204, 301, 302, 307, 404, 410])
})

it('does not keep a body over the limit', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, { ...PAGE, body: new Uint8Array(64 * 1024 * 1024 + 1) })
  expect(await cache.find(REQUEST)).toBeNull()
})

it('is cold after many requests in vain, until it has a page', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, PAGE)
  const cold: boolean[] = []
  for (let n = 0; n < 9; n++) {
    cold.push(cache.isCold)
    await cache.find({ ...REQUEST, url: `https://site.test/${n}` })
  }
  expect(cold.indexOf(true)).toBe(8)
  await cache.find(REQUEST)
  expect(cache.isCold).toBe(false)
})

it('fetches again what is too old', async () => {
  const { cache, clock } = await opened({ maxAgeMs: 60_000 })
  await cache.keep(REQUEST, PAGE)
  await clock.advance(60_000)
  expect(await cache.find(REQUEST)).not.toBeNull()
  await clock.advance(1)
  expect(await cache.find(REQUEST)).toBeNull()
  await cache.keep(REQUEST, PAGE)
  expect(await cache.find(REQUEST)).not.toBeNull()
})

it('takes a damaged, cut off or foreign entry for none, and replaces it', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, PAGE)
  const [path = ''] = await entries()
  const whole = await readFile(path)
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole)
    flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
    expect(decodeEntry(flipped), `byte ${at}`).toBeNull()
    expect(decodeEntry(whole.subarray(0, at)), `${at} bytes`).toBeNull()
  }
  expect(decodeEntry(Buffer.concat([whole, Buffer.from('x')]))).toBeNull()
  await truncate(path, whole.length - 1)
  expect(await cache.find(REQUEST)).toBeNull()
  await cache.keep(REQUEST, PAGE)
  expect(await cache.find(REQUEST)).toMatchObject({ status: 200 })
})

it('an entry is a text that people can read', () => {
  const text = encodeEntry({ response: PAGE, method: 'GET', at: 0 }).toString()
  expect(text).toMatch(/^shoal-cache 1 [0-9a-f]{8} \d+ \d+\n\{"url":"https:\/\/site\.test\/"/)
  expect(text).toContain('<h1>Tome — 1</h1>')
})

it('reports once that it cannot write, and goes on with what it has', async () => {
  const { cache, problems } = await opened()
  // A file where the folder of the entry should be: no permissions are needed, which root would ignore.
  const keys = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'))
  await Promise.all(keys.map((key) => writeFile(join(folder, key), '')))
  await cache.keep(REQUEST, PAGE)
  await cache.keep(REQUEST, PAGE)
  expect(problems).toEqual(['EEXIST'])
  expect(await cache.find(REQUEST)).toBeNull()
})

it('what a killed writer leaves behind is never read, and goes with the rest', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, PAGE)
  const [path = ''] = await entries()
  await writeFile(`${path}.0badcafe.tmp`, (await readFile(path)).subarray(0, 40))
  expect((await cache.find(REQUEST))?.body.length).toBe(PAGE.body.length)
  expect(await clearFolder(folder)).toMatchObject({ responses: 2 })
  expect(await entries()).toEqual([])
})

it('many writers of one entry at once leave one whole entry', async () => {
  const { cache } = await opened()
  const bodies = Array.from({ length: 20 }, (_, n) => Buffer.alloc(200_000, n))
  const reads: (FetchResponse | null)[] = []
  await Promise.all(
    bodies.map(async (body) => {
      await cache.keep(REQUEST, { ...PAGE, body })
      reads.push(await cache.find(REQUEST))
    }),
  )
  expect(reads.every((found) => found?.body.length === 200_000 && new Set(found.body).size === 1)).toBe(true)
  expect(await entries()).toHaveLength(1)
})

it('says how much it has, and deletes that and nothing else', async () => {
  const { cache } = await opened()
  for (let n = 0; n < 50; n++) await cache.keep({ ...REQUEST, url: `https://site.test/${n}` }, PAGE)
  const [path = ''] = await entries()
  const entryBytes = (await readFile(path)).length
  await writeFile(join(folder, 'notes.txt'), 'mine')
  await mkdir(join(folder, 'ab'), { recursive: true })
  await writeFile(join(folder, 'ab', 'notes.txt'), 'mine too')
  const size = await sizeOfFolder(folder)
  expect(size).toEqual({ responses: 50, bytes: 50 * entryBytes })
  expect(await clearFolder(folder)).toEqual(size)
  expect(await sizeOfFolder(folder)).toEqual({ responses: 0, bytes: 0 })
  expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('mine')
  expect(await readFile(join(folder, 'ab', 'notes.txt'), 'utf8')).toBe('mine too')
})

it('uses and empties no folder that belongs to somebody else', async () => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'thesis.txt'), 'ten years of work')
  await expect(prepareFolder(folder)).rejects.toMatchObject({ code: 'cache_unusable' })
  await expect(clearFolder(folder)).rejects.toMatchObject({ code: 'cache_unusable' })
  // The tag of another program.
  await writeFile(join(folder, 'CACHEDIR.TAG'), 'Signature: 8a477f597d28d172789f06886806bc55\n# cargo\n')
  await expect(clearFolder(folder)).rejects.toMatchObject({ code: 'cache_unusable' })
  expect(await readdir(folder)).toEqual(['CACHEDIR.TAG', 'thesis.txt'])
})

it('a folder that cannot be created is an error with its reason', async () => {
  await writeFile(join(above, 'file'), '')
  folder = join(above, 'file', 'cache')
  await expect(prepareFolder(folder)).rejects.toMatchObject({
    code: 'cache_unusable',
    message: expect.stringContaining('ENOTDIR'),
  })
  expect(await clearFolder(join(above, 'missing'))).toEqual({ responses: 0, bytes: 0 })
})

it('a cache on a read-only disk is still read', async () => {
  const first = await opened()
  await first.cache.keep(REQUEST, PAGE)
  await chmod(folder, 0o500)
  try {
    await prepareFolder(folder)
    expect(await first.cache.find(REQUEST)).not.toBeNull()
  } finally {
    await chmod(folder, 0o700)
  }
})

it('its files are for their owner only, and stay out of repositories and backups', async () => {
  const { cache } = await opened()
  await cache.keep(REQUEST, PAGE)
  for (const path of await entries()) expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await readFile(join(folder, '.gitignore'), 'utf8')).toBe('*\n')
  expect(await readFile(join(folder, 'CACHEDIR.TAG'), 'utf8')).toMatch(/^Signature: 8a477f597d28d172789f06886806bc55\n/)
})

it('a folder that no one can create is refused: below /proc, Node 20 would try for ever', async () => {
  await expect(prepareFolder('/proc/none/cache')).rejects.toMatchObject({ code: 'cache_unusable' })
})
