import type { RequestExtras } from '../../url/link.js'
import { type EntryNote, type Fields, isObject } from './fed-url.js'

/** What an entry says about its request, as it was pushed. */
export interface PushedRequest {
  method?: string
  headers?: Fields
  cookies?: Readonly<Record<string, string>>
  body?: string
}

interface ReadRequest {
  /** Undefined: a plain GET. */
  readonly request: RequestExtras | undefined
  readonly notes: readonly EntryNote[]
}

/** Decided by the connection, not by whoever asks for a page. Exports of Scrapy and of browsers contain them. */
const OF_THE_CONNECTION = new Set([
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'accept-encoding'],
  ...['te', 'trailer', 'upgrade', 'expect', 'proxy-authorization', 'proxy-connection'],
])
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const COOKIE_NAME = /^[!-:<>-~]+$/
const COOKIE_VALUE = /^[!-:<-~]*$/

/** The rest of the request under the rules of `follow()` in a spider; what cannot be sent is left out, because a link with it could never be fetched. */
export function readRequest({ method = 'GET', headers, cookies, body }: PushedRequest): ReadRequest {
  const notes: EntryNote[] = []
  const sent: [name: string, value: string][] = []
  for (const [key, value] of Object.entries(headers ?? {})) {
    const name = key.toLowerCase()
    // Scrapy stores a list of values for each header.
    const text = (Array.isArray(value) ? value : [value]).map(String).join(', ')
    if (OF_THE_CONNECTION.has(name)) notes.push({ key: `headers.${name}`, text: 'belongs to the connection: left out' })
    else if (!NAME.test(name) || !VALUE.test(text) || isObject(value) || value === null)
      notes.push({ key: `headers.${name}`, text: 'cannot be sent as a header: left out' })
    else sent.push([name, text])
  }
  const pairs = Object.entries(cookies ?? {}).filter(
    ([name, value]) => COOKIE_NAME.test(name) && COOKIE_VALUE.test(value),
  )
  if (pairs.length < Object.keys(cookies ?? {}).length)
    notes.push({ key: 'cookies', text: 'a cookie that cannot be sent is left out' })
  if (pairs.length > 0 && !sent.some(([name]) => name === 'cookie'))
    sent.push(['cookie', pairs.map(([name, value]) => `${name}=${value}`).join('; ')])
  const hasBody = body !== undefined && body !== ''
  if (method === 'GET' && sent.length === 0 && !hasBody) return { request: undefined, notes }
  return {
    request: {
      ...(method !== 'GET' && { method }),
      ...(sent.length > 0 && { headers: Object.fromEntries(sent) }),
      ...(hasBody && { body }),
    },
    notes,
  }
}

/** As an object, or as the list of objects that browsers export; null: neither. */
export function cookiesIn(value: unknown): Readonly<Record<string, string>> | null {
  const pairs: [string, string][] = []
  const given = Array.isArray(value)
    ? value.map((cookie: unknown) => (isObject(cookie) ? [cookie.name, cookie.value] : []))
    : isObject(value)
      ? Object.entries(value)
      : null
  for (const [name, text] of given ?? []) {
    if (typeof name !== 'string' || (typeof text !== 'string' && typeof text !== 'number')) return null
    pairs.push([name, String(text)])
  }
  return given === null ? null : Object.fromEntries(pairs)
}
