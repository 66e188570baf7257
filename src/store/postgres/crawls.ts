import { z } from 'zod'
import type { CrawlId, CrawlSpec } from '../../frontier/frontier.js'
import type { Link } from '../../url/link.js'
import type { CrawlNote, Crawls, KnownPage } from '../record-store.js'
import type { Pg, SqlStatement } from './pg.js'
import { millis } from './read-statements.js'

const NOTE = {
  name: 'note-crawl',
  text: `INSERT INTO shoal.crawl_notes (crawl, spider, queue, queue_id, state, spec, opened_at)
    VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000))
    ON CONFLICT (crawl) DO UPDATE SET spider = excluded.spider, queue = excluded.queue, queue_id = excluded.queue_id,
      state = excluded.state, spec = excluded.spec, opened_at = excluded.opened_at`,
}

/** Fetches read in one call, those of other crawls among them: a call takes some ten milliseconds however few match. */
const READ_AT_ONCE = 5_000
/**
 * The next fetches of the log by their time, of whichever crawl: no index leads to the fetches of one crawl, and a statement that
 * searched for so many of its own would read years of others. $2 and $3: the row the scan saw last.
 */
const NEXT_FETCHES = `next AS MATERIALIZED (
      SELECT * FROM shoal.fetches WHERE (at, id) > (to_timestamp($2::float8 / 1000), $3::bigint) ORDER BY at, id LIMIT ${READ_AT_ONCE}
    ), last AS (SELECT at, id FROM next ORDER BY at DESC, id DESC LIMIT 1)`

/** Each row with the last row that was read; one row without a page where there is none. $4: whether the fetch succeeded. */
export const KNOWN_PAGES: SqlStatement = {
  name: 'known-pages',
  text: `WITH ${NEXT_FETCHES}
    SELECT ${millis('last.at')}, last.id, lpad(to_hex(f.fp), 16, '0'), f.url, f.host, f.route, f.depth, f.link FROM last
    LEFT JOIN next f ON f.crawl = $1 AND (f.error IS NULL AND (f.status < 300 OR f.status = 304)) = $4 ORDER BY f.at, f.id`,
}

/** Returns the last row that was read. */
export const REMOVE_FETCHES: SqlStatement = {
  name: 'remove-fetches',
  text: `WITH ${NEXT_FETCHES}, gone AS (
      DELETE FROM shoal.fetches f USING next l WHERE l.crawl = $1 AND f.at = l.at AND f.id = l.id
    ) SELECT ${millis('at')}, id FROM last`,
}

const BEFORE_ALL = -62_000_000_000_000
const crawlState = z.enum(['open', 'ended', 'lost'])

/** Counts that are kept per crawl. */
interface CountsOfCrawls {
  forget(crawl: CrawlId): Promise<void>
}

export class PostgresCrawls implements Crawls {
  readonly #pg: Pg
  readonly #counts: readonly CountsOfCrawls[]

  constructor(pg: Pg, counts: readonly CountsOfCrawls[]) {
    this.#pg = pg
    this.#counts = counts
  }

  async note(note: CrawlNote): Promise<void> {
    const { crawl, spider, queue, queueIdentity, state, spec, openedAt } = note
    await this.#pg.query(NOTE, [crawl, spider, queue, queueIdentity, state, JSON.stringify(spec), openedAt])
  }

  async notes(): Promise<CrawlNote[]> {
    const rows = await this.#pg.query<[string, string, string, string, string, CrawlSpec, number]>(
      {
        name: 'crawl-notes',
        text: `SELECT crawl, spider, queue, queue_id, state, spec, ${millis('opened_at')} FROM shoal.crawl_notes ORDER BY opened_at, crawl`,
      },
      [],
    )
    return rows.map(([crawl, spider, queue, queueIdentity, known, spec, openedAt]) => ({
      ...{ crawl, spider, queue, queueIdentity, state: crawlState.parse(known), spec, openedAt },
    }))
  }

  async seedCursor(crawl: CrawlId, source: string): Promise<number> {
    const text = 'SELECT entries::float8 FROM shoal.seed_cursors WHERE crawl = $1 AND source = $2'
    const [[entries] = [0]] = await this.#pg.query<[number]>({ name: 'seed-cursor', text }, [crawl, source])
    return entries
  }

  async noteSeedCursor(crawl: CrawlId, source: string, entries: number): Promise<void> {
    const text = `INSERT INTO shoal.seed_cursors (crawl, source, entries) VALUES ($1, $2, $3)
      ON CONFLICT (crawl, source) DO UPDATE SET entries = excluded.entries`
    await this.#pg.query({ name: 'note-seed-cursor', text }, [crawl, source, entries])
  }

  async *knownPages(crawl: CrawlId, succeeded: boolean): AsyncGenerator<KnownPage> {
    let after: [number, string] | undefined = [BEFORE_ALL, '0']
    while (after !== undefined) {
      const rows: [number, string, string | null, string, string, string, number, Link | null][] = await this.#pg.query(
        KNOWN_PAGES,
        [crawl, ...after, succeeded],
      )
      for (const [, , fp, url, host, route, depth, link] of rows) {
        if (fp !== null) yield { fp, url, host, route, depth, link }
      }
      after = rows[0] && [rows[0][0], rows[0][1]]
    }
  }

  async remove(crawl: CrawlId): Promise<void> {
    let after: [number, string] | undefined = [BEFORE_ALL, '0']
    while (after !== undefined) {
      const rows: [number, string][] = await this.#pg.query(REMOVE_FETCHES, [crawl, ...after])
      after = rows[0]
    }
    await this.#pg.query({ name: 'remove-note', text: 'DELETE FROM shoal.crawl_notes WHERE crawl = $1' }, [crawl])
    await this.#pg.query({ name: 'remove-cursors', text: 'DELETE FROM shoal.seed_cursors WHERE crawl = $1' }, [crawl])
    for (const counts of this.#counts) await counts.forget(crawl)
  }
}
