import { createHash } from 'node:crypto'

/** Postgres cuts longer names, and two that are cut alike are one. */
const MAX_NAME_BYTES = 63
/** Columns that every Postgres table has already. */
const SYSTEM_COLUMNS = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/** A table or view for the records of one kind of a spider: `books_book`, a name that needs no quotes. */
export function tableName(spider: string, kind: string): string {
  const plain = `${spider}_${kind}`.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')
  const named = /^[a-z_]/.test(plain) ? plain : `_${plain}`
  return named.length <= MAX_NAME_BYTES ? named : `${named.slice(0, MAX_NAME_BYTES - 9)}_${digest(spider, kind)}`
}

/** For a second table of that name in one file: spiders `a-b` and `a.b`. */
export function otherTableName(spider: string, kind: string): string {
  return `${tableName(spider, kind).slice(0, MAX_NAME_BYTES - 9)}_${digest(spider, kind)}`
}

function digest(spider: string, kind: string): string {
  return createHash('sha256')
    .update(JSON.stringify([spider, kind]))
    .digest('hex')
    .slice(0, 8)
}

/** Names that a database takes as columns of one table: not empty, short enough, different in more than their case. */
export function columnNames(wanted: readonly string[]): string[] {
  const taken = new Set(SYSTEM_COLUMNS)
  return wanted.map((name) => {
    const clean = name.replaceAll('\0', '\ufffd') || '_'
    let free = cut(clean, MAX_NAME_BYTES)
    for (let n = 2; taken.has(free.toLowerCase()); n++) free = `${cut(clean, MAX_NAME_BYTES - 5)}_${n}`
    taken.add(free.toLowerCase())
    return free
  })
}

function cut(text: string, bytes: number): string {
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text
  let kept = ''
  let size = 0
  for (const character of text) {
    size += Buffer.byteLength(character)
    if (size > bytes) break
    kept += character
  }
  return kept
}

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Standard strings: a backslash is a backslash. */
export function quotedText(text: string): string {
  return `'${text.replaceAll('\0', '\ufffd').replaceAll("'", "''")}'`
}
