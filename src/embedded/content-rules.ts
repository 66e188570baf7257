import { STATE } from '../frontier/sqlite/schema.js'
import type { ContentRules } from '../sqlite/check.js'
import type { SqliteDb } from '../sqlite/db.js'
import { urlHash } from '../store/sqlite/hashes.js'

/** What `doctor` and `recover` know about the rows of Shoal's tables. */
export const CONTENT_RULES: ContentRules = {
  json: new Set([
    ...[
      'records.data',
      'record_versions.data',
      'rejected.data',
      'rejected.issues',
      'audit.details',
      'crawl_notes.spec',
    ],
    ...['fetches.headers', 'fetches.link', 'outlets.kinds'],
    ...['crawls.spec', 'workers.about', 'links.data', 'links.request', 'links.failures'],
  ]),
  large: new Set(['links.fp', 'fetches.fp', 'fetch_fps.fp', 'visits.fp']),
  check(table, values) {
    if (table !== 'records') return null
    const [url, hash] = [values.get('url'), values.get('url_hash')]
    return urlHash(String(url)) === Number(hash) ? null : 'records.url does not match its hash'
  },
  contradictions: (db) => STATES.flatMap((state) => miscounted(db, state)),
}

const STATES = ['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'] as const

/** A counter that promises links which are not there lets a crawl wait for them for ever. */
function miscounted(db: SqliteDb, state: (typeof STATES)[number]): string[] {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'crawls'").get() === undefined) return []
  const rows = db
    .prepare(
      `SELECT id, ${state}, (SELECT count(*) FROM links WHERE links.crawl = crawls.num AND links.state = ${STATE[state]}) AS found
       FROM crawls WHERE ${state} <> found`,
    )
    .all()
  return rows.map(
    ([id, count, found]) => `crawl ${String(id)} counts ${String(count)} links as ${state}, and has ${String(found)}`,
  )
}
