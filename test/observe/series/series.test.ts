import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { memoryNotes } from '../../../src/notes/memory/memory-notes.js'
import { type FetchCounts, sampleOf, type Totals, totalsOf } from '../../../src/observe/series/sampling.js'
import { SPANS } from '../../../src/observe/series/series.js'
import { readSeries, seriesBook } from '../../../src/observe/series/series-notes.js'
import { HISTOGRAM_MS } from '../../../src/observe/vitals/vitals.js'
import { crawlStats } from '../snapshots/some-snapshots.js'

const BUCKETS = HISTOGRAM_MS.length + 1

/** So many requests in the bucket that ends at `ms`. */
function took(entries: Readonly<Record<number, number>>): number[] {
  const counts = new Array<number>(BUCKETS).fill(0)
  for (const [ms, count] of Object.entries(entries)) counts[HISTOGRAM_MS.findIndex((end) => end >= Number(ms))] = count
  return counts
}

function totals(at: number, done: number, fetch: Readonly<Record<string, FetchCounts>> = {}): Totals {
  return totalsOf(crawlStats({ done, failed: done / 10, bytes: done * 1_000 }), new Map(Object.entries(fetch)), at)
}

describe('a sample', () => {
  it('gives the rates since the one before', () => {
    const sample = sampleOf(totals(10_000, 100), totals(15_000, 150), crawlStats({ done: 150, queued: 7 }), 3)
    expect(sample).toMatchObject({ at: 15_000, pagesPerSecond: 10, errorsPerSecond: 1, bytesPerSecond: 10_000 })
    expect(sample).toMatchObject({ queued: 7, done: 150, workers: 3, latencyMs: null })
  })

  it('is the mean since the start when there is none before, and never negative', () => {
    const stats = crawlStats({ done: 40, startedAt: 1_000 })
    expect(sampleOf(null, totals(11_000, 40), stats, 1).pagesPerSecond).toBe(4)
    expect(sampleOf(totals(10_000, 100), totals(15_000, 20), stats, 1).pagesPerSecond).toBe(0)
  })

  it('takes percentiles from what happened in between, over workers that come, go and begin anew', () => {
    const before = totals(10_000, 0, {
      stays: { startedAt: 1_000, counts: took({ 10: 500 }) },
      goes: { startedAt: 1_000, counts: took({ 10000: 500 }) },
      anew: { startedAt: 1_000, counts: took({ 10000: 500 }) },
    })
    const now = totals(15_000, 0, {
      stays: { startedAt: 1_000, counts: took({ 10: 500, 100: 80 }) },
      anew: { startedAt: 12_000, counts: took({ 100: 10 }) },
      comes: { startedAt: 12_000, counts: took({ 1000: 10 }) },
      unheard: { startedAt: 2_000, counts: took({ 60000: 1_000 }) },
    })
    const { latencyMs } = sampleOf(before, now, crawlStats({}), 3)
    expect(latencyMs?.p50).toBeGreaterThan(50)
    expect(latencyMs?.p90).toBeLessThanOrEqual(100)
    expect(latencyMs?.p99).toBeGreaterThan(500)
    expect(latencyMs?.p99).toBeLessThanOrEqual(1_000)
  })

  it('says of requests without an upper end at least its lower one', () => {
    const counts = [...new Array<number>(BUCKETS - 1).fill(0), 5]
    const now = totals(15_000, 0, { one: { startedAt: 12_000, counts } })
    expect(sampleOf(totals(10_000, 0), now, crawlStats({}), 1).latencyMs).toEqual({
      p50: 60_000,
      p90: 60_000,
      p99: 60_000,
    })
  })
})

describe('the series book', () => {
  const makeNotes = () => {
    const clock = new ManualClock()
    return { clock, notes: memoryNotes({ clock }) }
  }
  const fill = async (parts: ReturnType<typeof makeNotes>, author: string, count: number, from = 0) => {
    const book = seriesBook(parts.notes, author)
    for (let i = from; i < from + count; i++) {
      parts.clock.advance(SPANS['30m'])
      const now = totals(parts.clock.now(), i)
      await book.add('crawl', '30m', sampleOf(null, now, crawlStats({ done: i }), 1), now)
    }
    return book
  }

  it('keeps half an hour at five seconds, oldest first, and no more', async () => {
    const parts = makeNotes()
    await fill(parts, 'a', 800)
    const samples = await readSeries(parts.notes, 'crawl', '30m')
    expect(samples.map(({ done }) => done)).toEqual(Array.from({ length: 360 }, (_, i) => i + 440))
    expect(await readSeries(parts.notes, 'crawl', '24h')).toEqual([])
    expect(await readSeries(parts.notes, 'other', '30m')).toEqual([])
  })

  it('is continued by another watcher, and the one before writes nothing more', async () => {
    const parts = makeNotes()
    const first = await fill(parts, 'a', 70)
    const { samples, totals: last } = await seriesBook(parts.notes, 'b').resume('crawl', '30m')
    expect(samples).toHaveLength(70)
    expect(last).toMatchObject({ done: 69, bytes: 69_000 })
    await fill(parts, 'b', 10, 70)
    const late = totals(parts.clock.now(), 999)
    await first.add('crawl', '30m', sampleOf(null, late, crawlStats({ done: 999 }), 1), late)
    const done = (await readSeries(parts.notes, 'crawl', '30m')).map((sample) => sample.done)
    expect(done).toEqual(Array.from({ length: 80 }, (_, i) => i))
  })

  it('writes one small note with each sample', async () => {
    const parts = makeNotes()
    const sizes: number[] = []
    const { post } = parts.notes
    parts.notes.post = (key, holder, text, keepMs) => {
      sizes.push(text.length)
      return post(key, holder, text, keepMs)
    }
    await fill(parts, 'a', 400)
    expect(sizes).toHaveLength(400)
    expect(Math.max(...sizes)).toBeLessThan(8_000)
  })

  it('stays for a day after the end', async () => {
    const parts = makeNotes()
    await fill(parts, 'a', 70)
    parts.clock.advance(23 * 3_600_000)
    expect(await readSeries(parts.notes, 'crawl', '30m')).toHaveLength(70)
    parts.clock.advance(2 * 3_600_000)
    expect(await readSeries(parts.notes, 'crawl', '30m')).toEqual([])
  })

  it('reads nothing out of a note that is garbage', async () => {
    const { notes } = makeNotes()
    await notes.post('series:crawl:30m:0', 'x', '{"rows":[["a"]]}', 60_000)
    await notes.post('series:crawl:30m:1', 'x', 'no json', 60_000)
    expect(await readSeries(notes, 'crawl', '30m')).toEqual([])
  })
})
