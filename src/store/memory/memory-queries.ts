import type { Entities } from '../entities.js'
import type { RecordHistory } from '../history.js'
import { storedKey } from '../prepare.js'
import type { PageRecord, RecordLookup } from '../record-lookup.js'
import { foundRow, placeOf, type RecordSearch, searchThrough } from '../record-search.js'
import { compareText, type MemoryTables, recordId, storedRecord } from './memory-tables.js'

/** The ways to ask for records that are no part of writing them. */

export function memoryLookup({ records }: MemoryTables): RecordLookup {
  return {
    async byKeys(keys) {
      return keys.map(({ spider, site, kind, key }) => {
        const row = records.get(recordId({ spider, site, kind, key }))
        if (row === undefined) return null
        const { record, version, firstSeenAt, crawl, seenAt } = row
        const { gen, epoch, at } = version
        const data = JSON.parse(version.data)
        return {
          ...{ spider, site, kind, key, url: record.url, data, crawl, gen, epoch, identity: record.identity },
          ...{ scrapedAt: seenAt, firstSeenAt, updatedAt: at },
        }
      })
    },

    async leftOver(spider, readings, given) {
      const found: PageRecord[] = []
      for (const { record, version } of records.values()) {
        const { site, kind, key, url } = record
        const { gen, epoch } = version
        const read = readings.some((one) => one.url === url && one.gen === gen && one.epoch === epoch)
        const isGiven = given.some((one) => one.site === site && one.kind === kind && one.key === key)
        if (record.spider === spider && read && !isGiven) found.push({ spider, site, kind, key, url, gen, epoch })
      }
      return found
    },
  }
}

export function memorySearch({ records }: MemoryTables): RecordSearch {
  return {
    find(query) {
      const newest = query.spider === undefined && query.kind === undefined
      const rows = [...records]
        .filter(([, { record }]) => (query.spider ?? record.spider) === record.spider)
        .filter(([, { record }]) => (query.kind ?? record.kind) === record.kind)
        .map(([id, row]) => foundRow<[number | string]>([newest ? -row.change : id], storedRecord(row)))
        .sort((a, b) => (a.place[0] < b.place[0] ? -1 : 1))
      const isPlace: (value: unknown) => value is [number | string] = placeOf(newest ? 'number' : 'text')
      return searchThrough(query, isPlace, async (after, want) =>
        rows.filter((row) => after === null || row.place[0] > after[0]).slice(0, want),
      )
    },
  }
}

export function memoryHistory({ records }: MemoryTables): RecordHistory {
  return {
    async *versions(query) {
      for (const row of [...records.values()]) {
        const { spider, site, kind, key } = row.record
        if (storedKey(query.key) !== key || (query.spider ?? spider) !== spider) continue
        if ((query.site ?? site) !== site || (query.kind ?? kind) !== kind) continue
        for (const { record, version, crawl, until } of [{ ...row, until: null }, ...row.older]) {
          const content = { url: record.url, data: JSON.parse(version.data), crawl }
          yield { spider, site, kind, key, ...content, from: version.at, until }
        }
      }
    },
  }
}

export function memoryEntities({ records }: MemoryTables): Entities {
  return {
    async *scan({ spider, kind, identity }) {
      const rows = [...records.values()].filter(({ record }) => record.spider === spider && record.kind === kind)
      const named = rows.map((row) => ({ ...storedRecord(row), identity: row.version.identity }))
      const wanted = typeof identity === 'string' ? storedKey(identity) : identity
      yield* named
        .filter((row) => (wanted === undefined ? row.identity !== null : row.identity === wanted))
        .sort((a, b) => compareText(a.identity ?? '', b.identity ?? ''))
    },
  }
}
