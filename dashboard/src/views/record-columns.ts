import type { RecordView } from '../../../src/api/api-types.js'
import type { Json } from '../../../src/url/link.js'

/** The fields filled in most of these records, best filled first; ties in order of appearance. */
export function mostFilled(records: readonly RecordView[], most: number): string[] {
  const filled = new Map<string, number>()
  for (const { data } of records) {
    if (data === null || typeof data !== 'object' || Array.isArray(data)) continue
    for (const [field, value] of Object.entries(data)) {
      if (isFilled(value)) filled.set(field, (filled.get(field) ?? 0) + 1)
    }
  }
  return [...filled.entries()]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([field]) => field)
}

function isFilled(value: Json | undefined): boolean {
  return value !== null && value !== undefined && value !== ''
}

const LONGEST = 200

/** The text of a field in a cell; '' if the record does not have it. */
export function fieldText(data: Json, field: string): string {
  if (data === null || typeof data !== 'object' || Array.isArray(data) || !Object.hasOwn(data, field)) return ''
  const value = (data as Readonly<Record<string, Json>>)[field]
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
