import type { ColumnType } from '../kind-views.js'
import { quotedName, quotedText } from '../sql-names.js'
import { isoTime } from './columns.js'

/** Where databases need other words. Names and texts are quoted alike: MySQL is switched to the standard's quotes. */
export interface SqlDialect {
  /** Before the tables. */
  readonly start: string
  /** Between the tables and the rows. */
  readonly afterTables: string
  /** After the columns of a table. */
  readonly tableOptions: string
  readonly types: Readonly<Record<ColumnType, string>>
  readonly mostFields: number
  /** Null: the columns that identify a record are the primary key. */
  readonly idColumn: { readonly name: string; readonly type: string } | null
  columnName(name: string): string
  text(text: string): string
  time(ms: number): string
  /** Ends an INSERT: a row that is there already is replaced. */
  upsert(key: readonly string[], updated: readonly string[]): string
}

/** Postgres and SQLite, in words that both understand. SQLite takes a table up to 2,000 columns, Postgres 1,600. */
export const STANDARD: SqlDialect = {
  start: 'BEGIN;\n',
  afterTables: '',
  tableOptions: '',
  types: {
    text: 'TEXT',
    integer: 'BIGINT',
    number: 'DOUBLE PRECISION',
    boolean: 'BOOLEAN',
    timestamp: 'TIMESTAMP WITH TIME ZONE',
    json: 'TEXT',
  },
  mostFields: 1500,
  idColumn: null,
  columnName: (name) => name,
  text: quotedText,
  time: (ms) => quotedText(isoTime(ms)),
  upsert: (key, updated) =>
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${updated.map((name) => `${name} = excluded.${name}`).join(', ')}`,
}

/**
 * MySQL and MariaDB. A key may have 3,072 bytes, which is less than a URL in utf8mb4: the primary key is a hash of what identifies the record. Creating
 * a table ends a transaction, so the tables come first. Times are in UTC.
 */
export const MYSQL: SqlDialect = {
  start:
    "SET NAMES utf8mb4;\nSET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES';\nSET SESSION time_zone = '+00:00';\n",
  afterTables: 'START TRANSACTION;\n',
  // A database may have latin1 as its default, which has no emoji.
  tableOptions: ' DEFAULT CHARACTER SET utf8mb4',
  types: {
    text: 'LONGTEXT',
    integer: 'BIGINT',
    number: 'DOUBLE',
    boolean: 'BOOLEAN',
    timestamp: 'DATETIME(3)',
    json: 'LONGTEXT',
  },
  // InnoDB takes 1,017 columns.
  mostFields: 900,
  idColumn: { name: quotedName('_id'), type: 'CHAR(64) CHARACTER SET ascii COLLATE ascii_bin' },
  columnName: (name) => name.replace(NOT_IN_A_NAME, '_').replace(/ $/, '_'),
  // The client turns \r\n into \n unless it is started with --binary-mode.
  text: (text) =>
    text.includes('\r')
      ? `CONVERT(X'${Buffer.from(text.replaceAll('\0', '\ufffd')).toString('hex')}' USING utf8mb4)`
      : quotedText(text),
  time: (ms) => quotedText(isoTime(ms).replace('T', ' ').replace('Z', '')),
  upsert: (_, updated) => `ON DUPLICATE KEY UPDATE ${updated.map((name) => `${name} = VALUES(${name})`).join(', ')}`,
}

/** Characters outside of the Basic Multilingual Plane, which MySQL does not take in names. */
const NOT_IN_A_NAME = /[\u{10000}-\u{10ffff}]/gu
