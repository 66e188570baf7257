import type { CrawlSpec } from '../../frontier/frontier.js'
import type { SqliteDb } from '../../sqlite/db.js'
import { type EngineCall, forward, type SqliteEngine } from '../../sqlite/engine.js'
import type { CrawlNote, Crawls } from '../record-store.js'
import { rowReader } from '../row-reader.js'
import type { SqliteChanges } from './changes.js'
import type { KnownPagePart, SqliteFetches } from './fetches.js'

/** Fetch rows read in one call: other writers wait a few milliseconds. */
const FETCHES_AT_ONCE = 5000

/** Counts that are kept per crawl. */
interface CountsOfCrawls {
  forget(crawl: string): void
}

export class SqliteCrawls implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['notes', 'seedCursor'])
  readonly #sql: ReturnType<typeof statements>
  readonly #changes: SqliteChanges
  readonly #counts: readonly CountsOfCrawls[]

  constructor(db: SqliteDb, changes: SqliteChanges, counts: readonly CountsOfCrawls[]) {
    this.#sql = statements(db)
    this.#changes = changes
    this.#counts = counts
  }

  note({ crawl, spider, queue, queueIdentity, state, spec, openedAt }: CrawlNote): void {
    const from = this.#changes.end()
    this.#sql.note.run(crawl, spider, queue, queueIdentity, state, JSON.stringify(spec), openedAt, from)
  }

  notes(): CrawlNote[] {
    return this.#sql.notes.all().map((row) => {
      const note = toNote(row)
      return { ...note, spec: JSON.parse(note.spec) as CrawlSpec }
    })
  }

  seedCursor(crawl: string, source: string): number {
    return Number(this.#sql.seedCursor.get(crawl, source)?.[0] ?? 0)
  }

  noteSeedCursor(crawl: string, source: string, entries: number): void {
    this.#sql.noteSeedCursor.run(crawl, source, entries)
  }

  /** Everything about a crawl but its fetch log. */
  forget(crawl: string): void {
    this.#sql.removeNote.run(crawl)
    this.#sql.removeCursors.run(crawl)
    for (const counts of this.#counts) counts.forget(crawl)
  }
}

const toNote = rowReader<Omit<CrawlNote, 'spec'> & { readonly spec: string }>(
  ...(['crawl', 'spider', 'queue', 'queueIdentity', 'state', 'spec', 'openedAt'] as const),
)

export function crawlsOver(call: EngineCall<SqliteCrawls>, fetches: EngineCall<SqliteFetches>): Crawls {
  return {
    ...forward(call, 'note', 'notes', 'seedCursor', 'noteSeedCursor'),
    async *knownPages(crawl, succeeded) {
      for (let after: number | null = 0; after !== null; ) {
        const { pages, next }: KnownPagePart = await fetches('knownPages', crawl, succeeded, after, FETCHES_AT_ONCE)
        yield* pages
        after = next
      }
    },
    async remove(crawl) {
      for (let after: number | null = 0; after !== null; )
        after = await fetches('remove', crawl, after, FETCHES_AT_ONCE)
      await call('forget', crawl)
    },
  }
}

function statements(db: SqliteDb) {
  return {
    note: db.prepare(
      `INSERT INTO crawl_notes (crawl, spider, queue, queue_id, state, spec, opened_at, changes_from)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (crawl) DO UPDATE SET spider = excluded.spider, queue = excluded.queue, queue_id = excluded.queue_id,
         state = excluded.state, spec = excluded.spec, opened_at = excluded.opened_at`,
    ),
    notes: db.prepare(
      'SELECT crawl, spider, queue, queue_id, state, spec, opened_at FROM crawl_notes ORDER BY opened_at, crawl',
    ),
    seedCursor: db.prepare('SELECT entries FROM seed_cursors WHERE crawl = ? AND source = ?'),
    noteSeedCursor: db.prepare(
      `INSERT INTO seed_cursors (crawl, source, entries) VALUES (?, ?, ?)
       ON CONFLICT (crawl, source) DO UPDATE SET entries = excluded.entries`,
    ),
    removeNote: db.prepare('DELETE FROM crawl_notes WHERE crawl = ?'),
    removeCursors: db.prepare('DELETE FROM seed_cursors WHERE crawl = ?'),
  }
}
