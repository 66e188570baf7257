import { afterAll, beforeAll, expect, it } from 'vitest'
import { FieldTally } from '../../../src/quality/field-tally.js'
import { distinctValues } from '../../../src/quality/sketch.js'
import { entitiesContract } from '../../contract/entities-contract.js'
import { fieldStatsContract } from '../../contract/field-stats-contract.js'
import { historyContract } from '../../contract/history-contract.js'
import { matchStatsContract } from '../../contract/match-stats-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

for (const contract of [fieldStatsContract, historyContract, entitiesContract, matchStatsContract])
  contract('postgres', () => emptyPostgresStore(server.address()))

it('postgres: counts of workers that flush at the same time add up', async () => {
  const store = await emptyPostgresStore(server.address())
  const flush = async (worker: number) => {
    const tally = new FieldTally()
    for (let turn = 0; turn < 5; turn++) {
      const records = Array.from({ length: 40 }, (_, i) => ({
        ...{ spider: 's', kind: 'k', site: `${i % 3}.example`, scrapedAt: 1_000 },
        data: { id: `${worker} ${turn} ${i}`, a: worker, b: i, c: [turn] },
      }))
      tally.note({ records, rejected: [] })
      await store.fields.add(tally.take())
    }
  }
  await Promise.all(Array.from({ length: 6 }, (_, worker) => flush(worker)))
  const rows = new Map<string, { filled: number; distinct: number }>()
  for await (const { field, filled, sketch } of store.fields.scan({ site: '', sketches: true }))
    rows.set(field, { filled, distinct: distinctValues(sketch) })
  expect([...rows.values()].map(({ filled }) => filled)).toEqual(Array(5).fill(1200))
  expect(rows.get('a')?.distinct).toBe(6)
  expect(rows.get('b')?.distinct).toBe(40)
  expect(Math.abs((rows.get('id')?.distinct ?? 0) / 1200 - 1)).toBeLessThan(0.25)
  await store.close()
})
