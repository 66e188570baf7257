import { z } from 'zod'
import type { CrawlId } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import { seriesKey } from '../note-keys.js'
import type { Totals } from './sampling.js'
import { type Sample, SPANS, type Span } from './series.js'

/**
 * Samples of a crawl in the shared notes. A note holds the samples of a stretch of time, and the notes of a span form a ring: a new sample rewrites one note of a
 * few kilobytes, never the whole span, and the reader need not know the queue's time.
 */
const SAMPLES_PER_NOTE = 60
const SPAN_MS: Readonly<Record<Span, number>> = { '30m': 30 * 60_000, '24h': 24 * 3_600_000 }
/** The last samples of an ended crawl are kept for a day. */
const KEPT_MS = 24 * 3_600_000
/** How long a claim on one note lasts; the next call renews it. */
const CLAIM_MS = 10_000

const figure = z.number().finite()
const three = z.tuple([figure, figure, figure])
/** Time; pages, errors, bytes; latency; links by state and workers. Without field names, sixty of them take a few kilobytes. */
const row = z.tuple([
  figure,
  three,
  three.nullable(),
  z.tuple([figure, figure, figure, figure, figure, figure, figure]),
])
const noteSchema = z.object({
  totals: z.object({ at: figure, done: figure, failed: figure, bytes: figure }),
  rows: z.array(row).max(SAMPLES_PER_NOTE * 2),
})
type Row = z.infer<typeof row>
type StoredTotals = z.infer<typeof noteSchema>['totals']

/** Samples, oldest first. */
export async function readSeries(notes: Notes, crawl: CrawlId, span: Span): Promise<Sample[]> {
  return (await readRing(notes, crawl, span)).samples
}

interface Resumed {
  readonly samples: Sample[]
  /** At the last of the samples. */
  readonly totals: Totals | null
}

export interface SeriesBook {
  /** What the previous watcher left. */
  resume(crawl: CrawlId, span: Span): Promise<Resumed>
  add(crawl: CrawlId, span: Span, sample: Sample, totals: Totals): Promise<void>
  /** The crawl has ended: its state can be dropped. */
  forget(crawl: CrawlId): void
}

/** `author`: this watcher. It takes over another watcher's notes one by one, after which that watcher can no longer write them. */
export function seriesBook(notes: Notes, author: string): SeriesBook {
  const open = new Map<string, { readonly stretch: number; readonly rows: Row[] }>()
  const keyOf = (crawl: CrawlId, span: Span) => `${crawl} ${span}`

  const begin = async (crawl: CrawlId, span: Span, stretch: number) => {
    const claim = await notes.claim(noteKey(crawl, span, stretch), author, 0, CLAIM_MS)
    if (claim.kind !== 'yours') return null
    const rows = (parseNote(claim.old?.text)?.rows ?? []).filter(([at]) => stretchOf(span, at) === stretch)
    const begun = { stretch, rows }
    open.set(keyOf(crawl, span), begun)
    return begun
  }

  return {
    async resume(crawl, span) {
      const { samples, totals } = await readRing(notes, crawl, span)
      return { samples, totals: totals === null ? null : { ...totals, fetch: new Map() } }
    },
    async add(crawl, span, sample, { at, done, failed, bytes }) {
      const stretch = stretchOf(span, sample.at)
      const held = open.get(keyOf(crawl, span))
      const note = held?.stretch === stretch ? held : await begin(crawl, span, stretch)
      if (note === null) return
      note.rows.push(toRow(sample))
      const text = JSON.stringify({ totals: { at, done, failed, bytes }, rows: note.rows.slice(-SAMPLES_PER_NOTE) })
      const posted = await notes.post(noteKey(crawl, span, stretch), author, text, KEPT_MS)
      if (!posted) open.delete(keyOf(crawl, span))
    },
    forget(crawl) {
      for (const span of Object.keys(SPANS) as Span[]) open.delete(keyOf(crawl, span))
    },
  }
}

async function readRing(
  notes: Notes,
  crawl: CrawlId,
  span: Span,
): Promise<{ samples: Sample[]; totals: StoredTotals | null }> {
  const keys = Array.from({ length: ringOf(span) }, (_, place) => seriesKey(crawl, `${span}:${place}`))
  const parsed = await Promise.all(keys.map(async (key) => parseNote((await notes.read(key))?.text)))
  const there = parsed.filter((note) => note !== null)
  const rows = there.flatMap((note) => note.rows).sort(([a], [b]) => a - b)
  const newest = rows.at(-1)?.[0] ?? 0
  const totals = there.reduce<StoredTotals | null>(
    (last, note) => (last === null || note.totals.at > last.at ? note.totals : last),
    null,
  )
  return { samples: rows.filter(([at]) => at > newest - SPAN_MS[span]).map(toSample), totals }
}

/** One more than the span needs, because the newest note is still being filled. */
function ringOf(span: Span): number {
  return SPAN_MS[span] / (SPANS[span] * SAMPLES_PER_NOTE) + 1
}

function stretchOf(span: Span, at: number): number {
  return Math.floor(at / (SPANS[span] * SAMPLES_PER_NOTE))
}

function noteKey(crawl: CrawlId, span: Span, stretch: number): string {
  return seriesKey(crawl, `${span}:${stretch % ringOf(span)}`)
}

function parseNote(text: string | undefined): z.infer<typeof noteSchema> | null {
  if (text === undefined) return null
  try {
    return noteSchema.safeParse(JSON.parse(text)).data ?? null
  } catch {
    return null
  }
}

function toRow({ at, pagesPerSecond, errorsPerSecond, bytesPerSecond, latencyMs, ...counts }: Sample): Row {
  const { queued, delayed, leased, done, dead, skipped, workers } = counts
  return [
    at,
    [hundredths(pagesPerSecond), hundredths(errorsPerSecond), Math.round(bytesPerSecond)],
    latencyMs === null ? null : [latencyMs.p50, latencyMs.p90, latencyMs.p99],
    [queued, delayed, leased, done, dead, skipped, workers],
  ]
}

function toSample([at, [pagesPerSecond, errorsPerSecond, bytesPerSecond], latency, counts]: Row): Sample {
  const [queued, delayed, leased, done, dead, skipped, workers] = counts
  const latencyMs = latency === null ? null : { p50: latency[0], p90: latency[1], p99: latency[2] }
  return {
    ...{ at, pagesPerSecond, errorsPerSecond, bytesPerSecond, latencyMs },
    ...{ queued, delayed, leased, done, dead, skipped, workers },
  }
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100
}
