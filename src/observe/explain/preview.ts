import type { Json } from '../../url/link.js'

/** How much of a record is shown: enough to recognise it, never a megabyte. */
const MOST = { text: 300, items: 20, depth: 4, chars: 4_000 } as const

export function preview(data: Json): Json {
  const shown = cut(data, MOST.depth)
  const text = JSON.stringify(shown)
  return text.length <= MOST.chars ? shown : `${text.slice(0, MOST.chars)}…`
}

function cut(data: Json, depth: number): Json {
  if (typeof data === 'string') return data.length <= MOST.text ? data : `${data.slice(0, MOST.text)}…`
  if (typeof data !== 'object' || data === null) return data
  if (depth === 0) return '…'
  if (isList(data)) {
    const items = data.slice(0, MOST.items).map((item) => cut(item, depth - 1))
    return data.length <= MOST.items ? items : [...items, `… ${data.length - MOST.items} more`]
  }
  const entries = Object.entries(data)
  const fields = entries.slice(0, MOST.items).map(([name, value]) => [name.slice(0, MOST.text), cut(value, depth - 1)])
  return Object.fromEntries(
    entries.length <= MOST.items ? fields : [...fields, ['…', `${entries.length - MOST.items} more`]],
  )
}

function isList(data: Json): data is readonly Json[] {
  return Array.isArray(data)
}
