import type { RecordStore } from '../record-store.js'
import { PostgresAudit } from './audit.js'
import { PostgresBlobs } from './blobs.js'
import { PostgresChanges } from './changes.js'
import { PostgresCrawls } from './crawls.js'
import { PostgresEntities } from './entities.js'
import { PostgresFetches } from './fetches.js'
import { PostgresFieldStats } from './field-stats.js'
import { PostgresGenerations } from './generations.js'
import { PostgresHistory } from './history.js'
import { PostgresKeptPages } from './kept-pages.js'
import { PostgresKindViews } from './kind-views.js'
import { PostgresMatchStats } from './match-stats.js'
import { PostgresOutlets } from './outlets.js'
import type { Pg } from './pg.js'
import { PostgresRecordLookup } from './record-lookup.js'
import { PostgresRecordSearch } from './record-search.js'
import { PostgresRecords } from './records.js'
import { PostgresVisits } from './visits.js'

export function postgresRecordStore(pg: Pg): RecordStore {
  const records = new PostgresRecords(pg)
  const visits = new PostgresVisits(pg)
  const matches = new PostgresMatchStats(pg)
  const changes = new PostgresChanges(pg)
  return {
    records,
    fetches: new PostgresFetches(pg),
    pages: new PostgresKeptPages(pg),
    visits,
    crawls: new PostgresCrawls(pg, [visits, matches]),
    generations: new PostgresGenerations(pg),
    changes,
    outlets: new PostgresOutlets(pg, changes),
    lookup: new PostgresRecordLookup(pg),
    search: new PostgresRecordSearch(pg),
    history: new PostgresHistory(pg, records),
    entities: new PostgresEntities(pg),
    fields: new PostgresFieldStats(pg),
    matches,
    blobs: new PostgresBlobs(pg),
    audit: new PostgresAudit(pg),
    views: new PostgresKindViews(pg),
    close: () => pg.close(),
  }
}
