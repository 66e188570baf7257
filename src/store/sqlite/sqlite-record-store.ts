import type { EngineCall } from '../../sqlite/engine.js'
import type { RecordStore } from '../record-store.js'
import { auditOver } from './audit.js'
import { blobsOver } from './blobs.js'
import { changesOver } from './changes.js'
import { crawlsOver } from './crawls.js'
import { entitiesOver } from './entities.js'
import { fetchesOver } from './fetches.js'
import { fieldsOver } from './field-stats.js'
import { generationsOver } from './generations.js'
import { historyOver } from './history.js'
import { keptPagesOver } from './kept-pages.js'
import { viewsOver } from './kind-views.js'
import { matchesOver } from './match-stats.js'
import { outletsOver } from './outlets.js'
import { lookupOver } from './record-lookup.js'
import { searchOver } from './record-search.js'
import { recordsOver } from './records.js'
import type { StoreEngines } from './store-engines.js'
import { visitsOver } from './visits.js'

/** How to call one part of the store, wherever its engine runs. */
export type StoreCall = <Part extends keyof StoreEngines>(part: Part) => EngineCall<StoreEngines[Part]>

/** The fronts of the parts; `close` ends what is behind `on`. */
export function sqliteRecordStore(on: StoreCall, close: () => Promise<void>): RecordStore {
  const records = on('records')
  const fetches = on('fetches')
  const writer = on('writer')
  return {
    records: recordsOver(records, writer),
    fetches: fetchesOver(fetches),
    pages: keptPagesOver(on('pages'), writer),
    visits: visitsOver(on('visits')),
    crawls: crawlsOver(on('crawls'), fetches),
    generations: generationsOver(on('generations')),
    changes: changesOver(on('changes')),
    outlets: outletsOver(on('outlets')),
    lookup: lookupOver(on('lookup')),
    search: searchOver(on('search')),
    history: historyOver(on('history'), records),
    entities: entitiesOver(on('entities')),
    fields: fieldsOver(on('fields')),
    matches: matchesOver(on('matches')),
    blobs: blobsOver(on('blobs')),
    audit: auditOver(on('audit')),
    views: viewsOver(on('views')),
    close,
  }
}
