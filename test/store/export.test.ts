import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { exportRecords, exportToFile, type RecordSource } from '../../src/store/export/export.js'
import type { ExportFormat } from '../../src/store/export/formats.js'
import type { RecordRow, StoredRecord } from '../../src/store/record-store.js'
import type { Json } from '../../src/url/link.js'
import { record } from '../contract/record-store-contract.js'
import {
  csvColumn,
  exportedBytes,
  exportedText,
  parseCsv,
  readParquet,
  recordsWith,
  throughSqlite,
} from './read-exports.js'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shoal-export-'))
})
afterAll(() => rm(dir, { recursive: true }))

const exported = exportedText
const column = csvColumn

describe('export as JSON Lines', () => {
  it('writes one record a line, with times a person can read', async () => {
    const lines = (await exported(await recordsWith({ data: { a: 'x\ny' } }, { data: [1] }), 'jsonl')).split('\n')
    expect(lines).toHaveLength(3)
    expect(JSON.parse(lines[0])).toEqual({
      spider: 'books',
      site: 'books.example',
      kind: 'book',
      key: 'k0',
      url: 'https://books.example/k0',
      data: { a: 'x\ny' },
      crawl: 'crawl-1',
      scrapedAt: '1970-01-01T00:00:10.000Z',
      firstSeenAt: '1970-01-01T00:00:10.000Z',
      updatedAt: '1970-01-01T00:00:10.000Z',
    })
    expect(lines[2]).toBe('')
  })
})

describe('export as CSV', () => {
  it('has the columns of all records, nested values as JSON, and nothing for null', async () => {
    const text = await exported(
      await recordsWith(
        { data: { title: 'A, "b"', price: 1.5 } },
        { data: { title: null, tags: ['x', { y: 1 }], ok: true } },
      ),
      'csv',
    )
    const rows = parseCsv(text)
    expect(rows[0].slice(0, 4)).toEqual(['title', 'price', 'tags', 'ok'])
    expect(rows[1].slice(0, 4)).toEqual(['A, "b"', '1.5', '', ''])
    expect(rows[2].slice(0, 4)).toEqual(['', '', '["x",{"y":1}]', 'true'])
    expect(column(rows, '_key')).toEqual(['k0', 'k1'])
    expect(column(rows, '_scrapedAt')[0]).toBe('1970-01-01T00:00:10.000Z')
  })

  it('takes the sting out of formulas, in cells, keys and headings, and leaves numbers alone', async () => {
    const dangerous = ['=1+1', '+1', '-1', '@x', '\tx', '\rx', '\nx', '＝1']
    const rows = parseCsv(
      await exported(
        await recordsWith(
          ...dangerous.map((text) => ({ key: text, data: { text, n: -5, '=head': 1 } }) as Partial<RecordRow>),
        ),
        'csv',
      ),
    )
    expect(rows[0]).toContain("'=head")
    expect(column(rows, 'text')).toEqual(dangerous.map((text) => `'${text}`))
    expect(column(rows, '_key')).toEqual(dangerous.map((text) => `'${text}`))
    expect(new Set(column(rows, 'n'))).toEqual(new Set(['-5']))
  })

  it('keeps fields apart from its own columns, and takes data that is no object', async () => {
    const rows = parseCsv(
      await exported(await recordsWith({ data: { _key: 'mine', __proto__: 1 } }, { data: 'plain' }), 'csv'),
    )
    expect(column(rows, 'data._key')).toEqual(['mine', ''])
    expect(column(rows, 'value')).toEqual(['', 'plain'])
    expect(column(rows, '_key')).toEqual(['k0', 'k1'])
  })

  it('can be read back, whatever the text', async () => {
    const text = fc.string({ unit: fc.constantFrom('"', ',', '\r', '\n', '=', '-', 'a', "'", 'ü', '\t'), maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.dictionary(text, text, { noNullPrototype: true }), { minLength: 1, maxLength: 5 }),
        async (datas) => {
          const rows = parseCsv(
            await exported(await recordsWith(...datas.map((data) => ({ data: data as Json }))), 'csv'),
          )
          expect(rows).toHaveLength(datas.length + 1)
          const plain = (cell: string) => cell.replace(/^'(?=[=+\-@\t\r\n])/, '')
          const names = [...new Set(datas.flatMap((data) => Object.keys(data)))]
          for (const [index, data] of datas.entries()) {
            const cells = rows[index + 1].slice(0, names.length)
            for (const [at, name] of names.entries()) {
              const value = Object.hasOwn(data, name) ? data[name] : ''
              expect(plain(cells[at])).toBe(plain(value))
            }
          }
        },
      ),
    )
  })
})

describe('export', () => {
  /** Records that never run out, and how many of them were taken. */
  function endless(count: number): { source: RecordSource; taken: () => number } {
    let taken = 0
    const source = {
      async *scan(): AsyncGenerator<StoredRecord> {
        for (let i = 0; i < count; i++) {
          taken++
          yield { ...record({ key: `k${i}`, data: 'x'.repeat(1000) }), firstSeenAt: 0, updatedAt: 0 }
        }
      },
    }
    return { source, taken: () => taken }
  }

  it('reads no further than the sink takes', async () => {
    const { source, taken } = endless(100_000)
    const sink = new Writable({ highWaterMark: 1, write: () => {} })
    const running = exportRecords(source, {}, 'jsonl', sink)
    for (let turn = 0; turn < 2000; turn++) await new Promise(setImmediate)
    expect(taken()).toBeGreaterThan(0)
    expect(taken()).toBeLessThan(1000)
    sink.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    expect((await running).rows).toBe(taken())
  })

  it('tells its progress', async () => {
    const seen: number[] = []
    const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
    const result = await exportRecords(endless(500).source, {}, 'jsonl', sink, { progress: (rows) => seen.push(rows) })
    expect(result).toEqual({ rows: 500, leftOut: 0 })
    expect(seen.length).toBeGreaterThan(3)
    expect(seen.at(-1)).toBe(500)
  })

  it('puts a whole file in place, also over an older one', async () => {
    const path = join(dir, 'deep', 'out.jsonl')
    const store = await recordsWith({ data: 1 })
    await exportToFile(store, {}, 'jsonl', path)
    await exportToFile(store, {}, 'jsonl', path)
    expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1)
    expect(await readdir(join(dir, 'deep'))).toEqual(['out.jsonl'])
  })

  it('leaves the older file and no part when the store fails', async () => {
    const path = join(dir, 'failing', 'out.jsonl')
    await exportToFile(await recordsWith({ data: 'old' }), {}, 'jsonl', path)
    const before = await readFile(path, 'utf8')
    const failing = {
      // biome-ignore lint/correctness/useYield: it fails before its first row
      async *scan(): AsyncGenerator<StoredRecord> {
        throw new Error('gone')
      },
    }
    await expect(exportToFile(failing, {}, 'jsonl', path)).rejects.toThrow('gone')
    expect(await readFile(path, 'utf8')).toBe(before)
    expect(await readdir(join(dir, 'failing'))).toEqual(['out.jsonl'])
  })

  it('says that the disk under the stream is full', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
      code: 'ENOSPC',
      syscall: 'write',
    })
    const sink = new Writable({ write: (_chunk, _encoding, done) => done(full) })
    await expect(exportRecords(await recordsWith({}), {}, 'jsonl', sink)).rejects.toMatchObject({ code: 'disk_full' })
  })

  it('says that the file cannot be written', async () => {
    await writeFile(join(dir, 'plain'), '')
    await expect(exportToFile(await recordsWith({}), {}, 'csv', join(dir, 'plain', 'out.csv'))).rejects.toMatchObject({
      code: 'out_unwritable',
    })
  })

  it('packs a file whose name ends in .gz', async () => {
    const store = await recordsWith({ data: { title: 'A' } })
    for (const format of ['jsonl', 'csv', 'sql'] as const) {
      const path = join(dir, `packed.${format}.gz`)
      await exportToFile(store, {}, format, path)
      expect(gunzipSync(await readFile(path)).toString()).toBe(await exported(store, format))
    }
  })

  it('leaves nothing when it is stopped half way', async () => {
    for (const format of ['jsonl', 'csv', 'parquet', 'sql'] as const) {
      const stop = new AbortController()
      const { source, taken } = endless(100_000)
      const path = join(dir, 'stopped', `out.${format}`)
      const options = { signal: stop.signal, progress: () => stop.abort() }
      await expect(exportToFile(source, {}, format, path, options)).rejects.toThrow('abort')
      expect(taken()).toBeLessThan(50_000)
      expect(await readdir(join(dir, 'stopped'))).toEqual([])
    }
  })
})

describe('an export of the data alone', () => {
  const store = () =>
    recordsWith({ data: { title: 'A', _key: 1 } }, { data: { title: 'B', tags: ['x'] } }, { data: {}, kind: 'empty' })
  const bytes = async (format: ExportFormat) => exportedBytes(await store(), format, { dataOnly: true })

  it('is the plain objects as JSON Lines', async () => {
    expect((await bytes('jsonl')).toString()).toBe('{"title":"A","_key":1}\n{"title":"B","tags":["x"]}\n{}\n')
  })

  it('has only the fields as columns, by their own names', async () => {
    const [head, ...rows] = parseCsv((await bytes('csv')).toString())
    expect(head).toEqual(['title', '_key', 'tags'])
    expect(rows).toEqual([
      ['A', '1', ''],
      ['B', '', '["x"]'],
      ['', '', ''],
    ])
    const [first] = await readParquet(await bytes('parquet'))
    expect(first).toEqual({ title: 'A', _key: 1n, tags: null })
  })

  it('is rows without a key in SQL', async () => {
    const sql = (await bytes('sql')).toString()
    expect(throughSqlite(sql, 'books_book')).toEqual([
      { title: 'B', _key: null, tags: '["x"]' },
      { title: 'A', _key: 1, tags: null },
    ])
    expect((await bytes('mysql')).toString()).toContain('INSERT INTO')
  })
})
