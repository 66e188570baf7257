import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WARCParser, type WARCRecord } from 'warcio'
import { type PageArchive, warcToFiles, warcToStream } from '../../src/store/export/warc.js'
import type { KeptPage } from '../../src/store/kept-pages.js'
import { MemoryBlobStore } from '../../src/store/memory/memory-blob-store.js'
import { fetchRow } from '../contract/record-store-contract.js'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shoal-warc-'))
})
afterAll(() => rm(dir, { recursive: true }))

const NOW = Date.parse('2026-11-15T12:00:00.250Z')
const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

async function archiveOf(
  pages: readonly (Partial<KeptPage> & { readonly body: string | Uint8Array })[],
): Promise<PageArchive & { readonly bodies: MemoryBlobStore }> {
  const bodies = new MemoryBlobStore()
  const kept: KeptPage[] = []
  for (const [index, { body, ...fields }] of pages.entries()) {
    const page = await bodies.put(Buffer.from(body))
    const url = `https://books.example/${index}`
    kept.push({ ...fetchRow({ url, headers: { 'content-type': 'text/html' }, at: NOW + index }), ...fields, page })
  }
  const all = async function* () {
    yield* kept
  }
  return { pages: all(), bodies, info: { software: 'Shoal/test', format: 'WARC File Format 1.1' }, madeAt: NOW }
}

interface Read {
  readonly record: WARCRecord
  readonly payload: Buffer
}

/** With a reader that is not ours. */
async function read(bytes: Buffer): Promise<Read[]> {
  const found: Read[] = []
  const chunks = async function* () {
    yield new Uint8Array(bytes)
  }
  for await (const record of WARCParser.iterRecords(chunks())) {
    found.push({ record, payload: Buffer.from((await record.readFully(true)) ?? []) })
  }
  return found
}

const header = ({ record }: Read, name: string) => record.warcHeader(name)

describe('export as WARC', () => {
  it('is read by a third-party reader: status, headers, body and digests', async () => {
    const body = Buffer.from([0xff, 0xfe, ...Buffer.from('<h1>Ünïcode\r\n\r\n</h1>')])
    const path = join(dir, 'pages.warc.gz')
    const archive = await archiveOf([
      {
        body,
        status: 404,
        headers: {
          ...{ 'content-type': 'text/html; charset=utf-8', etag: '"a"', 'x-latin': 'caf\u00e9', link: '</a>, </b>' },
          ...{ 'content-encoding': 'gzip', 'content-length': '7', 'transfer-encoding': 'chunked', connection: 'close' },
        },
      },
      { body: '', status: 299, headers: null },
    ])
    const result = await warcToFiles(archive, path)
    expect(result).toEqual({ files: [path], pages: 2, revisits: 0, missing: 0 })
    expect((await readdir(dir)).filter((name) => name.endsWith('.part'))).toEqual([])

    const bytes = await readFile(path)
    const [info, first, second] = await read(bytes)
    expect(info?.record.warcType).toBe('warcinfo')
    expect(info?.record.warcHeaders.protocol).toBe('WARC/1.1')
    expect(info?.payload.toString()).toBe('software: Shoal/test\r\nformat: WARC File Format 1.1\r\n')
    if (first === undefined || second === undefined) throw new Error('two pages are missing')
    expect(first.record).toMatchObject({
      ...{ warcType: 'response', warcTargetURI: 'https://books.example/0', warcDate: '2026-11-15T12:00:00.250Z' },
      ...{ warcContentType: 'application/http; msgtype=response', warcPayloadDigest: sha256(body) },
    })
    expect(header(first, 'WARC-Warcinfo-ID')).toBe(info === undefined ? '' : header(info, 'WARC-Record-ID'))
    expect(header(first, 'WARC-Record-ID')).toMatch(/^<urn:uuid:[0-9a-f-]{36}>$/)
    expect(first.record.httpHeaders?.statusline).toBe('HTTP/1.1 404 Not Found')
    const headers = Object.fromEntries(first.record.httpHeaders?.headers ?? [])
    expect(Object.keys(headers).sort()).toEqual(['content-length', 'content-type', 'etag', 'link', 'x-latin'])
    expect(headers['content-length']).toBe(String(body.length))
    expect(first.payload.equals(body)).toBe(true)
    expect(second.record.httpHeaders?.statusline).toBe('HTTP/1.1 299 Unknown')
    expect(second.payload).toHaveLength(0)

    const raw = gunzipSync(bytes)
    const block = raw.subarray(raw.indexOf('HTTP/1.1 404'), raw.indexOf(body) + body.length)
    expect(first.record.warcBlockDigest).toBe(sha256(block))
    expect(block.includes(Buffer.from('x-latin: caf\u00e9\r\n', 'latin1'))).toBe(true)
    expect(Number(header(first, 'Content-Length'))).toBe(block.length)
  })

  it('has one gzip member for each record', async () => {
    const path = join(dir, 'members.warc.gz')
    await warcToFiles(await archiveOf([{ body: 'a' }, { body: 'b' }, { body: 'a' }]), path)
    const bytes = await readFile(path)
    const starts: number[] = []
    for (let at = bytes.indexOf('1f8b08', 0, 'hex'); at !== -1; at = bytes.indexOf('1f8b08', at + 1, 'hex'))
      starts.push(at)
    const types = starts.map((start, index) => {
      const member = gunzipSync(bytes.subarray(start, starts[index + 1])).toString()
      expect(member.startsWith('WARC/1.1\r\n')).toBe(true)
      expect(member.endsWith('\r\n\r\n')).toBe(true)
      return /WARC-Type: (\w+)/.exec(member)?.[1]
    })
    expect(types).toEqual(['warcinfo', 'response', 'response', 'revisit'])
  })

  it('refers to an earlier record where the same bytes come again, and passes over a fetch that was logged twice', async () => {
    const path = join(dir, 'revisit.warc.gz')
    const again = { body: 'same', url: 'https://books.example/again', status: 203 }
    const archive = await archiveOf([
      { body: 'same' },
      again,
      { body: 'same', url: 'https://books.example/0', at: NOW },
    ])
    expect(await warcToFiles(archive, path)).toMatchObject({ pages: 2, revisits: 1, missing: 0 })
    const [, first, revisit, ...rest] = await read(await readFile(path))
    expect(rest).toEqual([])
    if (revisit === undefined) throw new Error('there is no revisit')
    expect(revisit.record.warcType).toBe('revisit')
    expect(header(revisit, 'WARC-Profile')).toBe('http://netpreserve.org/warc/1.1/revisit/identical-payload-digest')
    expect(header(revisit, 'WARC-Refers-To-Target-URI')).toBe('https://books.example/0')
    expect(header(revisit, 'WARC-Refers-To-Date')).toBe('2026-11-15T12:00:00.250Z')
    expect(revisit.record.warcPayloadDigest).toBe(first?.record.warcPayloadDigest)
    expect(revisit.record.httpHeaders?.statusline).toBe('HTTP/1.1 203 Non-Authoritative Information')
    expect(revisit.payload).toHaveLength(0)
  })

  it('rolls over to numbered files, each with its own warcinfo', async () => {
    const pages = Array.from({ length: 12 }, (_, index) => ({ body: `${index}${'x'.repeat(500)}` }))
    const { files } = await warcToFiles(await archiveOf(pages), join(dir, 'roll', 'big.warc.gz'), { rollBytes: 2000 })
    expect(files.length).toBeGreaterThan(2)
    expect(files[0]).toBe(join(dir, 'roll', 'big-00001.warc.gz'))
    expect(await readdir(join(dir, 'roll'))).toEqual(files.map((file) => file.slice(join(dir, 'roll').length + 1)))
    const urls: string[] = []
    for (const file of files) {
      const [info, ...records] = await read(await readFile(file))
      expect(info?.record.warcType).toBe('warcinfo')
      expect(records.length).toBeGreaterThan(0)
      urls.push(...records.map(({ record }) => record.warcTargetURI ?? ''))
    }
    expect(urls).toEqual(pages.map((_, index) => `https://books.example/${index}`))
  })

  it('is plain text when the name does not end in .gz, and a stream for a pipe', async () => {
    const path = join(dir, 'plain.warc')
    await warcToFiles(await archiveOf([{ body: 'a' }]), path)
    expect((await readFile(path, 'utf8')).startsWith('WARC/1.1\r\nWARC-Type: warcinfo\r\n')).toBe(true)
    expect(await read(await readFile(path))).toHaveLength(2)
    const chunks: Buffer[] = []
    const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => done(void chunks.push(chunk) as never) })
    expect(await warcToStream(await archiveOf([{ body: 'a' }]), sink)).toMatchObject({ files: [], pages: 1 })
    expect(await read(Buffer.concat(chunks))).toHaveLength(2)
  })

  it('counts pages whose bytes are gone', async () => {
    const archive = await archiveOf([{ body: 'a' }, { body: 'b' }])
    const bodies = { get: async (ref: string) => (ref === sha256(Buffer.from('a')) ? null : Buffer.from('b')) }
    const result = await warcToFiles({ ...archive, bodies }, join(dir, 'gone.warc.gz'))
    expect(result).toMatchObject({ pages: 1, missing: 1 })
  })

  it('lets no header or URL begin a line of its own', async () => {
    const path = join(dir, 'lines.warc')
    await warcToFiles(
      await archiveOf([{ body: 'a', url: 'https://a.example/\r\nX: y', headers: { 'x-a': 'b\r\n\r\nevil' } }]),
      path,
    )
    const text = await readFile(path, 'utf8')
    expect(text).toContain('WARC-Target-URI: https://a.example/ X: y\r\n')
    expect(text).toContain('x-a: b evil\r\n')
  })

  it('leaves no file when it is stopped, or when a page cannot be read', async () => {
    const stop = new AbortController()
    const place = join(dir, 'stopped')
    const bodies = Array.from({ length: 500 }, (_, index) => ({ body: `${index}` }))
    const options = { signal: stop.signal, progress: (pages: number) => pages > 20 && stop.abort(), rollBytes: 1000 }
    await expect(warcToFiles(await archiveOf(bodies), join(place, 'a.warc.gz'), options)).rejects.toThrow('abort')
    const failing = { get: () => Promise.reject(new Error('the disk is broken')) }
    const broken = { ...(await archiveOf([{ body: 'a' }])), bodies: failing }
    await expect(warcToFiles(broken, join(place, 'b.warc.gz'))).rejects.toThrow('broken')
    expect(await readdir(place)).toEqual([])
    await expect(warcToFiles(await archiveOf([]), join(dir, 'plain.warc', 'x.warc.gz'))).rejects.toMatchObject({
      code: 'out_unwritable',
    })
  })
})
