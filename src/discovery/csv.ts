import type { SeedSource } from '../coordinator/seed-source.js'
import { ShoalError } from '../errors.js'
import { identityOf, textPieces } from './seed-file.js'

/** A longer field means a quote that was never closed: the rest of the file would be kept in memory. */
const MAX_FIELD_CHARS = 1024 * 1024
/** A longer row means that the file is not a table. */
const MAX_ROW_CHARS = 4 * MAX_FIELD_CHARS
const SEPARATORS = [',', ';', '\t'] as const

/** The URLs of one column: by name, with the first row as the header, or by number (from 1), without a header. */
export function csvSource(path: string, column: string | number): SeedSource {
  const identity = identityOf(path)
  return { name: `csv ${identity} ${column}`, label: `file ${path}`, entries: () => columnOf(path, column) }
}

async function* columnOf(path: string, column: string | number): AsyncGenerator<string> {
  let at = typeof column === 'number' ? column - 1 : -1
  const parser = createCsvParser()
  const valuesOf = (rows: string[][]): string[] => {
    const values: string[] = []
    for (const row of rows) {
      if (at === -1) {
        at = columnNamed(String(column), row, path)
        continue
      }
      const value = row[at]?.trim() ?? ''
      if (value !== '') values.push(value)
    }
    return values
  }
  for await (const text of textPieces(path)) yield* valuesOf(parser.write(text))
  yield* valuesOf(parser.end())
}

function columnNamed(name: string, header: readonly string[], path: string): number {
  const names = header.map((field) => field.trim().toLowerCase())
  const at = names.indexOf(name.toLowerCase())
  if (at !== -1) return at
  throw new ShoalError('seeds_unreadable', `${path} has no column '${name}'`, {
    hint: `Use one of ${header
      .slice(0, 20)
      .map((field) => `'${field.trim().slice(0, 40)}'`)
      .join(', ')}, or give its number.`,
  })
}

export interface CsvParser {
  /** The rows that this piece completes. */
  write(text: string): string[][]
  end(): string[][]
}

/** RFC 4180: quoted fields may contain separators, line breaks and doubled quotes. The separator is the most frequent one in the first line. */
export function createCsvParser(): CsvParser {
  let separator: string | null = null
  let head = ''
  let rows: string[][] = []
  let row: string[] = []
  let rowChars = 0
  let field = ''
  let quoted = false
  /** The last character was a quote inside quotes: the end of them, or half of a doubled one. */
  let maybeEnd = false
  let wasReturn = false

  const endField = () => {
    row.push(field)
    rowChars += field.length + 1
    if (rowChars > MAX_ROW_CHARS)
      throw new ShoalError('seeds_unreadable', `a row of the CSV file is longer than ${MAX_ROW_CHARS} characters`)
    field = ''
  }
  const endRow = () => {
    endField()
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
    rowChars = 0
  }

  const read = (text: string, separates: string) => {
    let plain = 0
    const keep = (end: number) => {
      if (end > plain) field += text.slice(plain, end)
      plain = end + 1
    }
    for (let i = 0; i < text.length; i++) {
      const char = text[i]
      if (quoted && !maybeEnd) {
        if (char === '"') {
          keep(i)
          maybeEnd = true
        }
        continue
      }
      if (maybeEnd) {
        maybeEnd = false
        if (char === '"') {
          // A doubled quote is one quote, and the field continues.
          plain = i
          continue
        }
        quoted = false
      }
      const afterReturn = wasReturn
      wasReturn = false
      if (char === '"' && field === '' && i === plain) {
        quoted = true
        plain = i + 1
      } else if (char === separates) {
        keep(i)
        endField()
      } else if (char === '\n' || char === '\r') {
        keep(i)
        if (char === '\r' || !afterReturn) endRow()
        wasReturn = char === '\r'
      }
    }
    keep(text.length)
    if (field.length > MAX_FIELD_CHARS)
      throw new ShoalError('seeds_unreadable', 'a field of the CSV file does not end: a quote is not closed')
  }

  const given = (): string[][] => {
    const all = rows
    rows = []
    return all
  }

  const begin = (text: string) => {
    separator = separatorOf(text)
    read(text.replace(/^\uFEFF/, ''), separator)
  }

  return {
    write(text) {
      if (separator !== null) read(text, separator)
      else {
        head += text
        if (!/[\r\n]/.test(head) && head.length < MAX_FIELD_CHARS) return []
        begin(head)
        head = ''
      }
      return given()
    },
    end() {
      if (separator === null) begin(head)
      if (field !== '' || row.length > 0) endRow()
      return given()
    },
  }
}

function separatorOf(text: string): string {
  const line = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replace(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((separator) => line.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}
