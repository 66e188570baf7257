import type { SqliteDb } from '../../sqlite/db.js'
import { SqliteAudit } from './audit.js'
import { SqliteBlobs } from './blobs.js'
import { SqliteChanges } from './changes.js'
import { SqliteCrawls } from './crawls.js'
import { SqliteEntities } from './entities.js'
import { SqliteFetches } from './fetches.js'
import { SqliteFieldStats } from './field-stats.js'
import { SqliteGenerations } from './generations.js'
import { SqliteHistory } from './history.js'
import { SqliteKeptPages } from './kept-pages.js'
import { SqliteKindViews } from './kind-views.js'
import { SqliteMatchStats } from './match-stats.js'
import { SqliteOutlets } from './outlets.js'
import { SqliteRecordLookup } from './record-lookup.js'
import { SqliteRecordSearch } from './record-search.js'
import { SqliteRecords } from './records.js'
import { SqliteVisits } from './visits.js'
import { SqliteWriter } from './writer.js'

export type StoreEngines = ReturnType<typeof storeEngines>

/** The parts of the store on one SQLite connection. Nothing is remembered between calls, so a rollback leaves nothing stale. */
export function storeEngines(db: SqliteDb) {
  const changes = new SqliteChanges(db)
  const fetches = new SqliteFetches(db)
  const history = new SqliteHistory(db)
  const visits = new SqliteVisits(db)
  const matches = new SqliteMatchStats(db)
  return {
    ...{ changes, fetches, history, visits, matches },
    writer: new SqliteWriter(db, { fetches, visits, changes, history }),
    records: new SqliteRecords(db),
    crawls: new SqliteCrawls(db, changes, [visits, matches]),
    generations: new SqliteGenerations(db),
    pages: new SqliteKeptPages(db),
    outlets: new SqliteOutlets(db, changes),
    lookup: new SqliteRecordLookup(db),
    search: new SqliteRecordSearch(db),
    entities: new SqliteEntities(db),
    fields: new SqliteFieldStats(db),
    blobs: new SqliteBlobs(db),
    audit: new SqliteAudit(db),
    views: new SqliteKindViews(db),
  }
}
