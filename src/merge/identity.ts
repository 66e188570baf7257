import type { Json } from '../url/link.js'

/** One spelling for what describes the same thing: no space around it, one space inside, composed characters; null when nothing is left. */
export function normalIdentity(value: unknown, ignoreCase: boolean): string | null {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return null
  const text = String(value).normalize().replace(/\s+/g, ' ').trim()
  if (text === '') return null
  return ignoreCase ? text.toLowerCase() : text
}

/** The identity that some fields make together; null when one of them is empty. One field is used as it is, several as JSON. */
export function identityOfFields(data: Json, fields: readonly string[], ignoreCase: boolean): string | null {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return null
  const record = data as Readonly<Record<string, Json>>
  const parts: string[] = []
  for (const field of fields) {
    const part = Object.hasOwn(record, field) ? normalIdentity(record[field], ignoreCase) : null
    if (part === null) return null
    parts.push(part)
  }
  return parts.length === 1 ? (parts[0] ?? null) : JSON.stringify(parts)
}
