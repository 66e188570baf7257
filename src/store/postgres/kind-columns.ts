import type { ColumnType, KindColumns } from '../kind-views.js'
import { columnNames, quotedName, quotedText } from '../sql-names.js'

interface SqlColumn {
  readonly name: string
  readonly type: string
  readonly value: string
}

type StoreColumn = readonly [name: string, type: string, value: string]

/** What a change of the record sets. */
export const LASTING_COLUMNS: readonly StoreColumn[] = [
  ['_site', 'text', 'site'],
  ['_key', 'text', 'key'],
  ['_url', 'text', 'url'],
  ['_first_seen_at', 'timestamptz', 'first_seen_at'],
  ['_updated_at', 'timestamptz', 'updated_at'],
]
/** What each page that shows it sets as well. */
export const STORE_COLUMNS: readonly StoreColumn[] = [
  ...LASTING_COLUMNS,
  ['_scraped_at', 'timestamptz', 'scraped_at'],
  ['_crawl', 'text', 'crawl'],
]

const TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  integer: 'bigint',
  number: 'numeric',
  boolean: 'boolean',
  timestamp: 'timestamptz',
  json: 'jsonb',
}

export function columnsOf(schema: string, { columns }: KindColumns, store: readonly StoreColumn[]): SqlColumn[] {
  // The store's own columns keep their names whatever the fields are called.
  const names = columnNames([...store.map(([name]) => name), ...columns.map(({ field }) => field)])
  const values = [
    ...store.map(([, type, value]) => ({ type, value })),
    ...columns.map(({ field, type }) => ({ type: TYPES[type], value: valueText(schema, field, type) })),
  ]
  return values.map(({ type, value }, place) => ({ name: identifier(names[place] ?? ''), type, value }))
}

function valueText(schema: string, field: string, type: ColumnType): string {
  // Data that is no object has one field.
  const value =
    field === 'value'
      ? `CASE jsonb_typeof(data) WHEN 'object' THEN data -> 'value' ELSE data END`
      : `data -> ${text(field)}`
  switch (type) {
    case 'text':
      return field === 'value' ? `(${value}) #>> '{}'` : `data ->> ${text(field)}`
    case 'json':
      return `nullif(${value}, 'null')`
    default:
      return `${schema}.as_${TYPES[type]}(${value})`
  }
}

/** Each gives NULL for what it cannot read. A number or a truth that was stored as text is read as what it says; a time without a zone is UTC. */
export function functionsText(schema: string): string {
  const day = `substr(given.t, 9, 2)::integer <= extract(day FROM (substr(given.t, 1, 7) || '-01')::date + interval '1 month' - interval '1 day')`
  return `CREATE OR REPLACE FUNCTION ${schema}.as_numeric(value jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE jsonb_typeof(value) WHEN 'number' THEN value::numeric
    WHEN 'string' THEN CASE WHEN value #>> '{}' ~ '^[+-]?\\d{1,200}(\\.\\d{0,200})?([eE][+-]?\\d{1,3})?$' THEN (value #>> '{}')::numeric END END
$$;
CREATE OR REPLACE FUNCTION ${schema}.as_bigint(value jsonb) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN n BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CASE n WHEN trunc(n) THEN n::bigint END END
  FROM (SELECT ${schema}.as_numeric(value) AS n) AS given
$$;
CREATE OR REPLACE FUNCTION ${schema}.as_boolean(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN value #>> '{}' IN ('true', 'false') THEN (value #>> '{}')::boolean END
$$;
CREATE OR REPLACE FUNCTION ${schema}.as_timestamptz(value jsonb) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN given.t ~ '^[1-9]\\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-](0\\d|1[0-4]):[0-5]\\d)?$'
    THEN CASE WHEN ${day}
      THEN (given.t || CASE WHEN given.t ~ '(Z|[+-]\\d\\d:\\d\\d)$' THEN '' ELSE 'Z' END)::timestamptz END END
  FROM (SELECT value #>> '{}' AS t) AS given
$$;`
}

/** Every `shoal.` of a statement is taken for the schema (see Pg): one in a value must not look like it. */
export function text(value: string): string {
  const quoted = quotedText(value)
  return quoted.includes('shoal.') ? `(${quoted.replaceAll('shoal.', `shoal' || '.`)})` : quoted
}

function identifier(name: string): string {
  const quoted = quotedName(name)
  return quoted.includes('shoal.') ? `U&${quoted.replaceAll('\\', '\\\\').replaceAll('shoal.', 'shoal\\002E')}` : quoted
}
