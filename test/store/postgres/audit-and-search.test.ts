import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { parsePostgres } from '../../../src/store/postgres/address.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { openPg } from '../../../src/store/postgres/pg.js'
import { recordsPage } from '../../../src/store/postgres/read-statements.js'
import { NEWEST } from '../../../src/store/postgres/record-search.js'
import { auditContract } from '../../contract/audit-contract.js'
import { recordSearchContract } from '../../contract/record-search-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

for (const contract of [auditContract, recordSearchContract])
  contract('postgres', () => emptyPostgresStore(server.address()))

it('postgres: reads no more of the records than a page', async () => {
  const address = `${server.address()}?schema=searched`
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  const pg = await openPg(parsePostgres(address))
  await pg.query({ name: 'fill', text: FILL }, [])
  await pg.script('ANALYZE shoal.records')
  const { statement, values } = recordsPage(
    's',
    { kind: 'b' },
    { kind: 'b', key: 'k5000', site: 'x', updatedAt: 0 },
    100,
  )
  // As `explain` asks for what a page gave.
  const byUrl = recordsPage('s', { url: 'http://x/7000' }, { kind: '', key: '', site: '', updatedAt: 0 }, 10)
  for (const [{ name, text }, given] of [
    [NEWEST, [9_000, 's', 'a', 'k2000', 'x', 100]],
    [statement, values],
    [byUrl.statement, byUrl.values],
  ] as const) {
    const [[plan] = []] = await pg.query(
      { name: `explain ${name}`, text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}` },
      given,
    )
    const read = [...JSON.stringify(plan).matchAll(/"(?:Actual Rows|Rows Removed by Filter)":([\d.]+)/g)]
    expect(Math.max(...read.map(([, rows]) => Number(rows))), JSON.stringify(plan)).toBeLessThan(300)
  }
  await pg.close()
  await store.close()
})

const FILL = `INSERT INTO shoal.records SELECT 's', 'x', CASE WHEN n % 2 = 0 THEN 'a' ELSE 'b' END, 'k' || n, 'http://x/' || n, 'x', '{}',
    sha256(n::text::bytea), null, 'c', 1, 1, now(), now(), now(), n, 0, 'c', 0, false FROM generate_series(1, 20000) n`
