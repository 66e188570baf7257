import { ShoalError } from '../../errors.js'
import {
  PARTITION_UNITS,
  type PartitionedTable,
  type PartitionInfo,
  type RetentionRule,
  type ServerAbout,
  type StoreMaintenance,
} from '../maintenance.js'
import { parsePostgres } from './address.js'
import { migrate, pendingMigrations } from './migrate.js'
import { boundsOf, FROM_AND_TO, makeAhead } from './partitions.js'
import { openPg, type Pg } from './pg.js'

export async function openPostgresMaintenance(address: string): Promise<StoreMaintenance> {
  const { schema, ...parsed } = parsePostgres(address)
  const pg = await openPg({ ...parsed, schema })
  return {
    pending: async () => (await pendingMigrations(pg)).pending,
    migrate: (onBegin) => migrate(pg, schema, undefined, onBegin),
    retention: () => retention(pg),
    setRetention: (rule) => setRetention(pg, rule),
    partitions: () => listed(pg),
    makeAhead: (now) => makeAhead(pg, now),
    detach: (partition) => detach(pg, partition),
    rows: (partition) => rows(pg, partition),
    drop: ({ name }) => pg.script(`DROP TABLE IF EXISTS shoal.${checked(name)}`),
    alone: (work) => alone(pg, work),
    about: () => about(pg),
    close: () => pg.close(),
  }
}

async function about(pg: Pg): Promise<ServerAbout> {
  const text = `SELECT current_setting('server_version'),
      array(SELECT name || ' = ' || setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'),
      (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::float8,
      current_setting('max_connections')::float8, pg_database_size(current_database())::float8`
  const [[version, undurable, used, most, bytes] = ['', [], 0, 0, 0]] = await pg.query<
    [string, string[], number, number, number]
  >({ name: 'about', text }, [])
  return { version, undurable, connections: { used, most }, bytes }
}

const SETTINGS = ['partition', 'keep_fetches_ms', 'keep_versions_ms', 'archive'] as const

async function retention(pg: Pg): Promise<RetentionRule> {
  const text = 'SELECT name, value FROM shoal.settings WHERE name = ANY($1)'
  const found = new Map(await pg.query<[string, string]>({ name: 'retention', text }, [SETTINGS]))
  const ms = (name: (typeof SETTINGS)[number]) => {
    const value = found.get(name)
    return value === undefined ? null : Number(value)
  }
  return {
    unit: PARTITION_UNITS.find((unit) => unit === found.get('partition')) ?? 'month',
    fetchesMs: ms('keep_fetches_ms'),
    versionsMs: ms('keep_versions_ms'),
    archive: found.get('archive') ?? null,
  }
}

async function setRetention(pg: Pg, { unit, fetchesMs, versionsMs, archive }: RetentionRule): Promise<void> {
  const values = { partition: unit, keep_fetches_ms: fetchesMs, keep_versions_ms: versionsMs, archive }
  await pg.transaction(async (tx) => {
    for (const name of SETTINGS) {
      const value = values[name]
      if (value === null)
        await tx.query({ name: 'forget-setting', text: 'DELETE FROM shoal.settings WHERE name = $1' }, [name])
      else await tx.query(SET, [name, String(value)])
    }
  })
}

const SET = {
  name: 'set-setting',
  text: `INSERT INTO shoal.settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
}

/** What Shoal takes out bears this as its comment, from before the first step to the last. */
const RETIRED = 'shoal: retired'

/** Every table that is named like a partition, in or out of its table. */
const LIST = {
  name: 'list-partitions',
  text: `SELECT relname, ${FROM_AND_TO},
      greatest(reltuples, 0)::float8, pg_total_relation_size(oid)::float8, inhdetachpending,
      left((SELECT value FROM shoal.settings WHERE name = 'identity'), 8) || '-' || oid,
      coalesce(obj_description(oid, 'pg_class') = '${RETIRED}', false)
    FROM (
      SELECT c.oid, c.relname, c.reltuples, i.inhdetachpending, ${boundsOf('c')} AS bounds
      FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
      WHERE c.relkind = 'r' AND c.relname ~ '^(fetches|record_versions)_[0-9]{8}(_[0-9]+)?$'
        AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'shoal.fetches'::regclass)
    ) AS named ORDER BY relname`,
}

type Listed = [
  ...[name: string, from: number | null, to: number | null, rows: number, bytes: number],
  ...[pending: boolean | null, id: string, retired: boolean],
]

async function listed(pg: Pg): Promise<PartitionInfo[]> {
  return (await pg.query<Listed>(LIST, [])).map(([name, from, to, rows, bytes, pending, id, retired]) => ({
    ...{ table: tableOf(name), name, id, rows, bytes, retired },
    range: from === null || to === null || pending === true ? null : { from, to },
  }))
}

function tableOf(name: string): PartitionedTable {
  return name.startsWith('fetches_') ? 'fetches' : 'record_versions'
}

/** CONCURRENTLY: writers continue; it waits for the transactions in progress. An interrupted detach is finished. */
async function detach(pg: Pg, { table, name }: PartitionInfo): Promise<void> {
  const [found] = (await pg.query<Listed>(LIST, [])).filter(([one]) => one === name)
  const pending = found?.[5] ?? null
  if (pending === null) return
  await pg.script(`COMMENT ON TABLE shoal.${checked(name)} IS '${RETIRED}'`)
  const how = pending ? 'FINALIZE' : 'CONCURRENTLY'
  await pg.script(`ALTER TABLE shoal.${table} DETACH PARTITION shoal.${checked(name)} ${how}`)
}

/** A name that goes into SQL without quotes. */
function checked(name: string): string {
  if (!/^(?:fetches|record_versions)_\d{8}(?:_\d+)?$/.test(name))
    throw new ShoalError('internal', `${name} is no partition`)
  return name
}

/** What a JavaScript number cannot hold. */
const AS_TEXT: Readonly<Record<PartitionedTable, string>> = {
  fetches: `jsonb_build_object('fp', lpad(to_hex(fp), 16, '0'), 'gen', gen::text, 'epoch', epoch::text)`,
  record_versions: `jsonb_build_object('gen', gen::text, 'epoch', epoch::text)`,
}

/** Half a megabyte of the table. */
const BLOCKS_AT_ONCE = 64

/** Block by block: nobody writes to the table any more, and no statement reads more than its part. */
async function* rows(pg: Pg, { table, name }: PartitionInfo): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const size = `SELECT (pg_relation_size('shoal.${checked(name)}') / current_setting('block_size')::int)::float8`
  const [[blocks] = [0]] = await pg.query<[number]>({ name: `blocks ${name}`, text: size }, [])
  const part = {
    name: `rows ${name}`,
    text: `SELECT to_jsonb(t) || ${AS_TEXT[table]} FROM shoal.${checked(name)} t WHERE t.ctid >= $1::tid AND t.ctid < $2::tid`,
  }
  for (let block = 0; block < blocks; block += BLOCKS_AT_ONCE) {
    const found = await pg.query<[Record<string, unknown>]>(part, [`(${block},0)`, `(${block + BLOCKS_AT_ONCE},0)`])
    for (const [row] of found) yield row
  }
}

/** The lock ends with the transaction that holds it, and so with the process. */
function alone(pg: Pg, work: () => Promise<void>): Promise<boolean> {
  return pg.transaction(async (tx) => {
    const text = `SELECT pg_try_advisory_xact_lock(hashtext('shoal.maintenance'))`
    const [[free] = [false]] = await tx.query<[boolean]>({ name: 'maintenance-lock', text }, [])
    if (free) await work()
    return free
  })
}
