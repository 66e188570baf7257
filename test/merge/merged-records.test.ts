import { describe, expect, it } from 'vitest'
import type { MergeRules } from '../../src/merge/merge-records.js'
import { type MergedRecord, mergedRecords } from '../../src/merge/merged-records.js'
import { memoryRecordStore } from '../../src/store/memory/memory-record-store.js'
import type { RecordStore } from '../../src/store/record-store.js'
import { batch, record } from '../contract/record-store-contract.js'

const NEWEST: MergeRules = { prefer: new Map(), otherwise: 'newest' }

async function merged(store: RecordStore, identity?: string): Promise<MergedRecord[]> {
  const found: MergedRecord[] = []
  const query = { spider: 'books', kind: 'book', rules: NEWEST, ...(identity === undefined ? {} : { identity }) }
  for await (const one of mergedRecords(store.entities, query)) found.push(one)
  return found
}

describe('merged records', () => {
  it('are one for each identity, those without any at the end', async () => {
    const store = memoryRecordStore()
    await store.records.write(
      batch({
        records: [
          record({ key: 'a', identity: 'y', site: 'a.example', scrapedAt: 10, data: { n: 1, a: 1 } }),
          record({ key: 'b', identity: 'x', data: { n: 2 } }),
          record({ key: 'c', identity: 'y', site: 'b.example', scrapedAt: 20, crawl: 'crawl-2', data: { n: 3 } }),
          record({ key: 'd', identity: null, data: { n: 4 } }),
          record({ key: 'e', identity: 'y', kind: 'shelf' }),
        ],
      }),
    )
    const found = await merged(store)
    expect(found.map(({ key, identity, data, count }) => [key, identity, data, count])).toEqual([
      ['x', 'x', { n: 2 }, 1],
      ['y', 'y', { n: 3, a: 1 }, 2],
      ['d', null, { n: 4 }, 1],
    ])
    expect(found[1]).toMatchObject({
      ...{ spider: 'books', kind: 'book', site: 'b.example', url: record({ key: 'c' }).url, crawl: 'crawl-2' },
      ...{ firstSeenAt: 10, scrapedAt: 20, updatedAt: 20 },
      provenance: { n: { site: 'b.example', key: 'c', at: 20 }, a: { site: 'a.example', key: 'a', at: 10 } },
    })
    expect(await merged(store, 'x')).toHaveLength(1)
    expect(await merged(store, 'nothing')).toEqual([])
  })
})
