import { type Clock, systemClock } from '../../clock.js'
import type { RecordStore } from '../record-store.js'
import { MemoryAudit } from './memory-audit.js'
import { MemoryBlobIndex } from './memory-blob-index.js'
import { MemoryChanges } from './memory-changes.js'
import { MemoryCrawls, MemoryGenerations } from './memory-crawls.js'
import { MemoryFetches, MemoryKeptPages } from './memory-fetches.js'
import { MemoryFieldStats } from './memory-field-stats.js'
import { MemoryMatchStats } from './memory-match-stats.js'
import { MemoryOutlets } from './memory-outlets.js'
import { memoryEntities, memoryHistory, memoryLookup, memorySearch } from './memory-queries.js'
import { MemoryRecords } from './memory-records.js'
import { MemoryTables } from './memory-tables.js'
import { MemoryVisits } from './memory-visits.js'

/** The reference: short and obvious, the oracle of the drivers' tests. Counts are taken by going through all rows. */
export function memoryRecordStore(clock: Clock = systemClock): RecordStore {
  const tables = new MemoryTables()
  const visits = new MemoryVisits()
  const matches = new MemoryMatchStats()
  const changes = new MemoryChanges(tables)
  return {
    records: new MemoryRecords(tables, visits),
    fetches: new MemoryFetches(tables),
    pages: new MemoryKeptPages(tables),
    visits,
    crawls: new MemoryCrawls(tables, changes, [visits, matches]),
    generations: new MemoryGenerations(),
    changes,
    outlets: new MemoryOutlets(clock, changes),
    lookup: memoryLookup(tables),
    search: memorySearch(tables),
    history: memoryHistory(tables),
    entities: memoryEntities(tables),
    fields: new MemoryFieldStats(),
    matches,
    blobs: new MemoryBlobIndex(),
    audit: new MemoryAudit(),
    views: null,
    close: async () => {},
  }
}
