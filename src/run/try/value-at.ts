import type { Json } from '../../url/link.js'

/** What data has at the path of an issue, as `offers[0].price`; undefined if there is nothing. A field may have a dot or a bracket in its own name. */
export function valueAt(data: Json, path: string): Json | undefined {
  if (path === '') return data
  if (data === null || typeof data !== 'object') return undefined
  if (Object.hasOwn(data, path)) return (data as Record<string, Json>)[path]
  const end = path.slice(1).search(/[.[]/) + 1
  const [first, rest] = end === 0 ? [path, ''] : [path.slice(0, end), path.slice(end)]
  const key = first.startsWith('[') ? first.slice(1, -1) : first.replace(/^\./, '')
  if (!Object.hasOwn(data, key)) return undefined
  return valueAt((data as Record<string, Json>)[key] as Json, rest.replace(/^\./, ''))
}
