import { cleanText } from '../prepare.js'

/** Columns as arrays, written as the server reads them: the client's own way takes three times as long. */

export function numbers<Row>(rows: readonly Row[], of: (row: Row) => number | bigint | string): string {
  return `{${rows.map(of).join(',')}}`
}

export function texts<Row>(rows: readonly Row[], of: (row: Row) => string | null): string {
  return `{${rows.map((row) => element(of(row))).join(',')}}`
}

function element(given: string | null): string {
  if (given === null) return 'NULL'
  const text = cleanText(given)
  return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`
}

/** 64 bits as Postgres keeps them: signed. */
export function signed(fp: string): bigint {
  return BigInt.asIntN(64, BigInt(`0x${fp}`))
}
