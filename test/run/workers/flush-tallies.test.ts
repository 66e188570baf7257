import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import type { CrawlSpec } from '../../../src/frontier/frontier.js'
import type { Log } from '../../../src/log.js'
import { silentLog } from '../../../src/log.js'
import { type FieldRow, HOUR_MS } from '../../../src/quality/field-row.js'
import { FieldTally } from '../../../src/quality/field-tally.js'
import { driftWatch, pauseAfterCheck, unlessAway } from '../../../src/run/duties/drift-watch.js'
import { flushed, flushTallies } from '../../../src/run/workers/flush-tallies.js'
import { memoryRecordStore } from '../../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../../src/store/record-store.js'

const turn = () => new Promise((resolve) => setImmediate(resolve))

function noted(tally: FieldTally, data: object, scrapedAt = 0): void {
  tally.note({ records: [{ spider: 'shop', kind: 'product', site: 'a.example', scrapedAt, data }], rejected: [] })
}

async function filled(store: RecordStore): Promise<number> {
  let sum = 0
  for await (const { field, filled: times } of store.fields.scan({})) if (field === '') sum += times
  return sum
}

describe('the counts of a worker', () => {
  it('reach the store every few seconds, and at the end', async () => {
    const clock = new ManualClock()
    const store = memoryRecordStore()
    const tally = new FieldTally()
    const flushing = flushTallies([flushed(tally, store.fields)], clock)
    noted(tally, { a: 1 })
    clock.advance(4_000)
    await turn()
    expect(await filled(store)).toBe(0)
    for (let expected = 1; expected <= 3; expected++) {
      clock.advance(5_000)
      await turn()
      expect(await filled(store)).toBe(expected)
      noted(tally, { a: 1 })
    }
    await flushing.stop()
    expect(await filled(store)).toBe(4)
    clock.advance(60_000)
    await turn()
    expect(tally.take()).toEqual([])
  })

  it('do not keep a worker from ending when the store never answers', async () => {
    const clock = new ManualClock()
    const tally = new FieldTally()
    const flushing = flushTallies([flushed(tally, { add: () => new Promise<void>(() => {}) })], clock)
    noted(tally, { a: 1 })
    let ended = false
    const stopped = flushing.stop().then(() => {
      ended = true
    })
    await turn()
    expect(ended).toBe(false)
    clock.advance(3_000)
    await turn()
    expect(ended).toBe(true)
    await stopped
  })

  it('wait for a store that is away, and are not lost', async () => {
    const clock = new ManualClock()
    const store = memoryRecordStore()
    let away = true
    const sometimes = {
      scan: store.fields.scan.bind(store.fields),
      async add(rows: readonly FieldRow[]) {
        if (away) throw new ShoalError('db_busy', 'away')
        await store.fields.add(rows)
      },
    }
    const tally = new FieldTally()
    const flushing = flushTallies([flushed(tally, sometimes)], clock)
    for (let i = 0; i < 3; i++) {
      noted(tally, { a: i })
      clock.advance(5_000)
      await turn()
    }
    away = false
    await flushing.stop()
    expect(await filled(store)).toBe(3)
  })
})

describe('the watch over drift', () => {
  it('tells of each field once, and again when it was well in between', async () => {
    const store = memoryRecordStore()
    const told: unknown[] = []
    const log: Log = { ...silentLog, warn: (event, fields) => void told.push([event, fields?.field, fields?.spider]) }
    const look = driftWatch(store, ['shop', 'other'], log)
    const hour = async (number: number, data: object) => {
      const tally = new FieldTally()
      for (let i = 0; i < 100; i++) noted(tally, data, number * HOUR_MS)
      await store.fields.add(tally.take())
      return look()
    }
    const event = ['records.drift', 'price', 'shop']
    expect(await hour(0, { name: 'x', price: 1 })).toEqual([])
    expect(await hour(1, { name: 'x' })).toHaveLength(1)
    expect(await hour(2, { name: 'x' })).toHaveLength(1)
    expect(told).toEqual([event])
    expect(await hour(3, { name: 'x', price: 1 })).toEqual([])
    expect(await hour(4, { name: 'x' })).toHaveLength(1)
    expect(told).toEqual([event, event])
  })

  it('tells of what never matched in the newest crawl from its first page on, unless a summary does', async () => {
    const store = memoryRecordStore()
    const told: unknown[] = []
    const log: Log = { ...silentLog, warn: (_, fields) => void told.push(fields?.message) }
    const look = driftWatch(store, ['shop'], log)
    const crawl = async (id: string, matched: number) => {
      const note = {
        crawl: id,
        spider: 'shop',
        queue: 'q',
        queueIdentity: 'q',
        state: 'open',
        openedAt: told.length,
      } as const
      await store.crawls.note({ ...note, spec: {} as CrawlSpec })
      await store.matches.add([
        { crawl: id, part: 'rule', of: 'list', name: '', selector: 'a', seen: 1, matched, example: 'u' },
      ])
    }
    expect(await look()).toEqual([])
    await crawl('c1', 0)
    expect(await look({ atEnd: true })).toMatchObject([{ change: 'never', fields: { route: 'list', pages: 1 } }])
    expect(told).toEqual([])
    await store.matches.add([
      { crawl: 'c1', part: 'rule', of: 'list', name: '', selector: 'b', seen: 1, matched: 0, example: 'u' },
    ])
    expect(await look()).toHaveLength(2)
    expect(told).toEqual(['route list: `b` matched on 0 of 1 page'])
    await crawl('c2', 1)
    expect(await look()).toEqual([])
  })

  it('looks less often where looking takes long, but once an hour', () => {
    expect([0, 600, 2_000, 3_600_000].map(pauseAfterCheck)).toEqual([60_000, 60_000, 200_000, HOUR_MS])
  })

  it('stops in the middle when the process ends', async () => {
    const store = memoryRecordStore()
    let read = 0
    const endless = async function* () {
      const types = { text: 0, number: 0, boolean: 0, list: 0, object: 0 }
      for (let hour = 0; ; hour += HOUR_MS) {
        read += 1
        if (read === 10) end.abort()
        yield { spider: 'shop', kind: 'product', site: '', field: '', hour, filled: 1, failed: 0, types, sketch: [] }
      }
    }
    const end = new AbortController()
    const look = driftWatch(
      { ...store, fields: { add: store.fields.add.bind(store.fields), scan: endless } },
      ['shop'],
      silentLog,
    )
    await expect(look({ signal: end.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect(read).toBe(10)
  })

  it('knows nothing while the store is away', async () => {
    const away = async () => {
      throw new ShoalError('db_busy', 'away')
    }
    expect(await unlessAway(away)).toEqual([])
    await expect(unlessAway(async () => Promise.reject(new Error('a defect')))).rejects.toThrow('a defect')
  })
})
