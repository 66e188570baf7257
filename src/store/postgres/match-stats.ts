import type { CrawlId } from '../../frontier/frontier.js'
import type { MatchRow } from '../../quality/match-row.js'
import { cleanMatch, type MatchStats } from '../match-stats.js'
import { rowReader } from '../row-reader.js'
import type { Pg, SqlStatement } from './pg.js'

/** One statement for all rows of a worker, in the order of their key: workers that add to the same rows never wait in a circle. */
const ADD: SqlStatement = {
  name: 'add-matches',
  text: `INSERT INTO shoal.match_stats AS m (crawl, part, part_of, name, selector, seen, matched, example)
    SELECT crawl, part, part_of, name, selector, seen, matched, example
    FROM jsonb_to_recordset($1) AS i (crawl text, part text, part_of text, name text, selector text, seen bigint, matched bigint, example text)
    ORDER BY crawl COLLATE "C", part COLLATE "C", part_of COLLATE "C", name COLLATE "C", selector COLLATE "C"
    ON CONFLICT (crawl, part, part_of, name, selector) DO UPDATE SET seen = m.seen + excluded.seen, matched = m.matched + excluded.matched,
      example = CASE WHEN m.example = '' THEN excluded.example ELSE m.example END`,
}

export class PostgresMatchStats implements MatchStats {
  readonly #pg: Pg

  constructor(pg: Pg) {
    this.#pg = pg
  }

  async add(rows: readonly MatchRow[]): Promise<void> {
    if (rows.length === 0) return
    const plain = rows.map(cleanMatch).map(({ of, ...row }) => ({ ...row, part_of: of }))
    await this.#pg.query(ADD, [JSON.stringify(plain)])
  }

  async of(crawl: CrawlId): Promise<MatchRow[]> {
    const text = `SELECT crawl, part, part_of, name, selector, seen::float8, matched::float8, example FROM shoal.match_stats
      WHERE crawl = $1 ORDER BY crawl, part, part_of, name, selector`
    return (await this.#pg.query<unknown[]>({ name: 'matches', text }, [crawl])).map(toMatch)
  }

  async forget(crawl: CrawlId): Promise<void> {
    await this.#pg.query({ name: 'forget-matches', text: 'DELETE FROM shoal.match_stats WHERE crawl = $1' }, [crawl])
  }
}

const toMatch = rowReader<MatchRow>(
  ...(['crawl', 'part', 'of', 'name', 'selector', 'seen', 'matched', 'example'] as const),
)
