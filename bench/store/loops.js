import { hash } from 'node:crypto'
import { once } from 'node:events'
import { from as copyFrom } from 'pg-copy-streams'
import { systemClock } from '../../dist/clock.js'
import { openPostgresStore } from '../../dist/store/postgres/open-postgres.js'
import { connect } from './server.js'

/**
 * Each contender is a function from an address to a loop: `write(writer, batch)`, `close()`. The hand-written ones write what Shoal writes into the
 * same columns of the same tables: records, and fetches if the batch has some, in one transaction. They have no fencing, freshness, counts, cleaning
 * or quarantine, and no result per record.
 */
export const LOOPS = {
  shoal: openShoal,
  jsonb_to_recordset: (address, writers) => openHandWritten(address, writers, oneStatement(BY_JSON)),
  unnest: (address, writers) => openHandWritten(address, writers, oneStatement(BY_ARRAYS)),
  copy: (address, writers) => openHandWritten(address, writers, openCopy),
  'row by row': (address, writers) => openHandWritten(address, writers, oneRowAtATime),
}

async function openShoal(address) {
  const store = await openPostgresStore(address, { clock: systemClock, create: true })
  return {
    async write(_, batch) {
      const statuses = await store.records.write(batch)
      return statuses.length
    },
    close: () => store.close(),
  }
}

async function openHandWritten(address, writers, openWriter) {
  const clients = await Promise.all(Array.from({ length: writers }, () => connect(address)))
  const write = await Promise.all(clients.map(openWriter))
  return {
    async write(writer, { records, fetches }) {
      // As everybody writes such a loop after the first deadlock.
      const sorted = [...records].sort((a, b) => (a.key < b.key ? -1 : 1))
      await write[writer](sorted.map(recordColumns), fetches.map(fetchColumns))
      return records.length
    },
    close: () => Promise.all(clients.map((client) => client.end())),
  }
}

const RECORD_TYPES = {
  ...{
    spider: 'text',
    site: 'text',
    kind: 'text',
    key: 'text',
    url: 'text',
    domain: 'text',
    data: 'jsonb',
    hash: 'text',
  },
  ...{ crawl: 'text', gen: 'bigint', epoch: 'bigint', scraped_at: 'float8', fresh_ms: 'bigint' },
}
const FETCH_TYPES = {
  ...{
    at: 'float8',
    spider: 'text',
    crawl: 'text',
    fp: 'bigint',
    url: 'text',
    host: 'text',
    route: 'text',
    depth: 'integer',
  },
  ...{
    status: 'smallint',
    bytes: 'bigint',
    ms: 'float8',
    attempt: 'integer',
    worker: 'text',
    gen: 'bigint',
    epoch: 'bigint',
  },
}

/** Values in the order of the types; the data is JSON text. */
function recordColumns({ spider, site, kind, key, url, data, crawl, gen, epoch, scrapedAt, freshMs }) {
  const text = JSON.stringify(data)
  const digest = hash('sha256', text).slice(0, 32)
  return [spider, site, kind, key, url, site, text, digest, crawl, gen, epoch, scrapedAt, freshMs]
}

function fetchColumns({
  at,
  spider,
  crawl,
  fp,
  url,
  host,
  route,
  depth,
  status,
  bytes,
  ms,
  attempt,
  worker,
  gen,
  epoch,
}) {
  const number = String(BigInt.asIntN(64, BigInt(`0x${fp}`)))
  return [at, spider, crawl, number, url, host, route, depth, status, bytes, ms, attempt, worker, gen, epoch]
}

const CHANGED = ['url', 'domain', 'data', 'content_hash', 'crawl', 'gen', 'epoch', 'updated_at', 'scraped_at', 'change']
const upsert = (source) => `
  INSERT INTO shoal.records (spider, site, kind, key, url, domain, data, content_hash, identity, crawl, gen, epoch,
    first_seen_at, updated_at, scraped_at, change, last_write, last_crawl, fresh_ms, keep_history)
  SELECT spider, site, kind, key, url, domain, data, decode(hash, 'hex'), NULL, crawl, gen, epoch, to_timestamp(scraped_at / 1000),
    to_timestamp(scraped_at / 1000), to_timestamp(scraped_at / 1000), pg_current_xact_id()::text::bigint, 0, crawl, fresh_ms, false
  FROM ${source}
  ON CONFLICT (spider, kind, key, site) DO UPDATE SET ${CHANGED.map((name) => `${name} = excluded.${name}`).join(', ')}`
const insertFetches = (source) => `
  INSERT INTO shoal.fetches (${Object.keys(FETCH_TYPES).join(', ')})
  SELECT ${Object.keys(FETCH_TYPES).map((name) => (name === 'at' ? 'to_timestamp(at / 1000)' : name))} FROM ${source}`

/** How rows become values of a statement, and what it reads them from: `first` is the number of the first value. */
const BY_JSON = {
  source: (types, first) =>
    `jsonb_to_recordset($${first}) AS i (${Object.entries(types).map(([name, type]) => `${name} ${type}`)})`,
  values(types, rows) {
    const names = Object.keys(types)
    const data = names.indexOf('data')
    const texts = rows.map((row) => {
      let text = ''
      for (const [nth, value] of row.entries())
        text += `,"${names[nth]}":${nth === data || typeof value === 'number' ? value : JSON.stringify(value)}`
      return `{${text.slice(1)}}`
    })
    return [`[${texts.join(',')}]`]
  },
}
const BY_ARRAYS = {
  source: (types, first) =>
    `unnest(${Object.values(types).map((type, nth) => `$${first + nth}::${type}[]`)}) AS i (${Object.keys(types)})`,
  values: (types, rows) => Object.keys(types).map((_, nth) => rows.map((row) => row[nth])),
}
const ONE_ROW = {
  source: (types, first) =>
    `(SELECT ${Object.entries(types).map(([name, type], nth) => `$${first + nth}::${type} AS ${name}`)}) AS i`,
  values: (_, rows) => rows[0],
}

function statementsOf({ source }) {
  const fetchesFrom = source(RECORD_TYPES, 1).match(/\$\d+/g).length + 1
  return {
    records: { name: 'records', text: upsert(source(RECORD_TYPES, 1)) },
    both: {
      name: 'both',
      text: `WITH fetched AS (${insertFetches(source(FETCH_TYPES, fetchesFrom))}) ${upsert(source(RECORD_TYPES, 1))}`,
    },
  }
}

function oneStatement(how) {
  const { records, both } = statementsOf(how)
  return (client) => (rows, fetches) =>
    fetches.length === 0
      ? client.query({ ...records, values: how.values(RECORD_TYPES, rows) })
      : client.query({ ...both, values: [...how.values(RECORD_TYPES, rows), ...how.values(FETCH_TYPES, fetches)] })
}

function oneRowAtATime(client) {
  const write = oneStatement(ONE_ROW)(client)
  return async (rows, fetches) => {
    for (const [nth, row] of rows.entries()) await write([row], fetches.slice(nth, nth + 1))
  }
}

async function openCopy(client) {
  const staging = (name, types) =>
    `CREATE TEMP TABLE ${name} (${Object.entries(types).map(([column, type]) => `${column} ${type}`)}) ON COMMIT DELETE ROWS`
  await client.query(staging('new_records', RECORD_TYPES))
  await client.query(staging('new_fetches', FETCH_TYPES))
  const copy = async (table, rows) => {
    const stream = client.query(copyFrom(`COPY ${table} FROM STDIN`))
    stream.end(rows.map((row) => `${row.map(copyText).join('\t')}\n`).join(''))
    await once(stream, 'finish')
  }
  return async (rows, fetches) => {
    await client.query('BEGIN')
    await copy('new_records', rows)
    if (fetches.length > 0) {
      await copy('new_fetches', fetches)
      await client.query({ name: 'fetches', text: insertFetches('new_fetches') })
    }
    await client.query({ name: 'records', text: upsert('new_records') })
    await client.query('COMMIT')
  }
}

/** Rows of the benchmark contain no tabs and no line ends; those of JSON text are escaped. */
function copyText(value) {
  return typeof value === 'string' && value.includes('\\') ? value.replaceAll('\\', '\\\\') : value
}
