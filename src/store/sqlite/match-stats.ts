import type { MatchRow } from '../../quality/match-row.js'
import type { SqliteDb } from '../../sqlite/db.js'
import type { EngineCall, SqliteEngine } from '../../sqlite/engine.js'
import { cleanMatch, type MatchStats } from '../match-stats.js'
import { rowReader } from '../row-reader.js'

export class SqliteMatchStats implements SqliteEngine {
  readonly reads: ReadonlySet<string> = new Set(['of'])
  readonly #sql: ReturnType<typeof statements>

  constructor(db: SqliteDb) {
    this.#sql = statements(db)
  }

  add(rows: readonly MatchRow[]): void {
    for (const { crawl, part, of, name, selector, seen, matched, example } of rows)
      this.#sql.add.run(crawl, part, of, name, selector, seen, matched, example)
  }

  of(crawl: string): MatchRow[] {
    return this.#sql.of.all(crawl).map(toMatch)
  }

  forget(crawl: string): void {
    this.#sql.forget.run(crawl)
  }
}

export function matchesOver(call: EngineCall<SqliteMatchStats>): MatchStats {
  return { add: (rows) => call('add', rows.map(cleanMatch)), of: (crawl) => call('of', crawl) }
}

function statements(db: SqliteDb) {
  return {
    add: db.prepare(
      `INSERT INTO match_stats (crawl, part, part_of, name, selector, seen, matched, example) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET seen = seen + excluded.seen, matched = matched + excluded.matched,
         example = iif(example = '', excluded.example, example)`,
    ),
    of: db.prepare(
      `SELECT crawl, part, part_of, name, selector, seen, matched, example FROM match_stats WHERE crawl = ?
       ORDER BY crawl, part, part_of, name, selector`,
    ),
    forget: db.prepare('DELETE FROM match_stats WHERE crawl = ?'),
  }
}

const toMatch = rowReader<MatchRow>(
  ...(['crawl', 'part', 'of', 'name', 'selector', 'seen', 'matched', 'example'] as const),
)
