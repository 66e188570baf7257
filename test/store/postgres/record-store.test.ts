import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { parsePostgres } from '../../../src/store/postgres/address.js'
import { KNOWN_PAGES, REMOVE_FETCHES } from '../../../src/store/postgres/crawls.js'
import { openPostgresStore } from '../../../src/store/postgres/open-postgres.js'
import { openPg } from '../../../src/store/postgres/pg.js'
import { recordStoreContract } from '../../contract/record-store-contract.js'
import { type PostgresServer, startPostgres } from '../../support/postgres-server.js'
import { emptyPostgresStore } from './opened.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.end())

recordStoreContract('postgres', () => emptyPostgresStore(server.address()))

it('looks at a bounded part of the log in each statement about one crawl', async () => {
  const address = await server.createDatabase()
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  const pg = await openPg(parsePostgres(address))
  const run = (name: string, text: string, values: unknown[] = []) => pg.query<unknown[]>({ name, text }, values)
  // Of one crawl the first fetch and the last, and two looks of others in between.
  await run(
    'fill',
    `INSERT INTO shoal.fetches (at, spider, crawl, fp, url, host, route, depth, status, bytes, ms, attempt, worker, gen, epoch)
      SELECT date_trunc('minute', now()) + n * interval '1 ms', 's', CASE WHEN n IN (1, 12000) THEN 'mine' ELSE 'others' END, n,
        'http://a.test/' || n, 'a.test', 'r', 0, 200, 1, 1, 1, 'w', 1, 1 FROM generate_series(1, 12000) n`,
  )
  await run('analyze', 'ANALYZE shoal.fetches')
  const urls: string[] = []
  for await (const { url } of store.crawls.knownPages('mine', true)) urls.push(url)
  expect(urls).toEqual(['http://a.test/1', 'http://a.test/12000'])
  for (const [{ name, text }, ...more] of [[KNOWN_PAGES, true], [REMOVE_FETCHES]] as const) {
    const values = ['nobody', 0, '0', ...more]
    const [[plan] = []] = await run(`explain ${name}`, `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
    const read = [...JSON.stringify(plan).matchAll(/"(?:Actual Rows|Rows Removed by Filter)":(\d+)/g)].map(([, rows]) =>
      Number(rows),
    )
    expect(Math.max(...read), name).toBe(5_000)
  }
  await store.crawls.remove('mine')
  expect(await run('left', 'SELECT crawl, count(*)::float8 FROM shoal.fetches GROUP BY 1')).toEqual([
    ['others', 11_998],
  ])
  await pg.close()
  await store.close()
})
