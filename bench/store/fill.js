import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { systemClock } from '../../dist/clock.js'
import { openPostgresStore } from '../../dist/store/postgres/open-postgres.js'
import { recordOf } from './rows.js'
import { withClient } from './server.js'

const ROWS_AT_ONCE = 250_000
const PATTERNS = 500
/** Bytes per row in addition to its data: row header, index entries, and server log that is not removed yet. */
const ROW_OVERHEAD = 700
const LOG_BYTES = 3e9

/** How many rows of this size the disk has room for, at most as many as asked. */
export function fitting(rows, bytes) {
  const { bavail, bsize } = statfsSync(tmpdir())
  const room = bavail * bsize * 0.8 - LOG_BYTES
  return Math.max(0, Math.min(rows, Math.floor(room / (bytes * 1.15 + ROW_OVERHEAD))))
}

export async function makeTables(address) {
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  await store.close()
}

/**
 * Rows 0 … `rows` of rows.js, made by the server: the values of some are taken for all, with keys, URLs and content hashes of their own. The indexes are
 * made afterwards, which leaves them as dense as they can be, and the table is vacuumed.
 */
export async function fillRecords(address, rows, bytes) {
  await makeTables(address)
  await withClient(address, async (client) => {
    const { rows: indexes } = await client.query(
      `SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE schemaname = 'shoal' AND tablename = 'records'`,
    )
    const secondary = indexes.filter(({ name }) => name !== 'records_pkey')
    await client.query('ALTER TABLE shoal.records DROP CONSTRAINT records_pkey')
    for (const { name } of secondary) await client.query(`DROP INDEX shoal.${name}`)
    const patterns = Array.from({ length: PATTERNS }, (_, n) => recordOf(n, { lease: 0, content: 0 }, bytes).data)
    for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
      const to = Math.min(rows, from + ROWS_AT_ONCE)
      await client.query(INSERT, [JSON.stringify(patterns), from, to - 1, rows])
      progress(`${to} of ${rows} rows`)
    }
    await client.query(
      `INSERT INTO shoal.record_counts SELECT spider, kind, crawl, 0, $1, 0, 0, 0 FROM shoal.records LIMIT 1`,
      [rows],
    )
    await client.query(`SET maintenance_work_mem = '512MB'`)
    progress('indexes')
    await client.query('ALTER TABLE shoal.records ADD PRIMARY KEY (spider, kind, key, site)')
    for (const { definition } of secondary) await client.query(definition)
    progress('vacuum')
    await client.query('VACUUM (ANALYZE) shoal.records')
    await client.query('CHECKPOINT')
  })
}

function progress(what) {
  console.error(`filling: ${what}`)
}

/** The change numbers lie before those of any transaction to come, as they would. */
const INSERT = `
  INSERT INTO shoal.records (spider, site, kind, key, url, domain, data, content_hash, identity, crawl, gen, epoch, first_seen_at, updated_at,
    scraped_at, change, last_write, last_crawl, fresh_ms, keep_history)
  SELECT 'bench', site, 'product', key, format('https://%s/catalogue/filled-%s/index.html', site, n), site,
    patterns.data || jsonb_build_object('sku', key), decode(md5(key), 'hex'), NULL, '01J9ZQK5T8E3W6Y1N4B7C2D0F9', 1, 1, at, at, at,
    n / 200 - $4::bigint, 0, '01J9ZQK5T8E3W6Y1N4B7C2D0F9', 3600000, false
  FROM (
    SELECT n, substr(md5(n::text), 1, 16) AS key, format('shop%s.example', n % 100) AS site, date_trunc('milliseconds', now()) - interval '1 day' - ($4 - n) * interval '1 millisecond' AS at
    FROM generate_series($2::bigint, $3::bigint) AS n
  ) AS rows JOIN (SELECT data, nth FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS p (data, nth)) AS patterns ON patterns.nth = n % ${PATTERNS} + 1`
