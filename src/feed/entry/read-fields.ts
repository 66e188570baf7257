import { clampPriority, type Json, PRIORITY_MAX, PRIORITY_MIN } from '../../url/link.js'
import { type EntryNote, type FedUrl, type Fields, isObject, plainName, WEB_URL } from './fed-url.js'
import { cookiesIn, type PushedRequest, readRequest } from './read-request.js'

/** Whether the spider has a route of this name. */
export type HasRoute = (name: string) => boolean

interface ReadFields {
  /** As they were pushed; more than one with `urls`. */
  readonly urls: readonly unknown[]
  /** The same for each of the URLs. */
  readonly rest: Omit<FedUrl, 'url'>
  readonly notes: readonly EntryNote[]
}

/** What is known about the entry so far. */
interface Draft {
  readonly urls: unknown[]
  route?: string
  priority?: number
  again?: boolean
  readonly request: PushedRequest
  /** The values of `data` and `meta`. */
  readonly data: unknown[]
  readonly notes: EntryNote[]
}

/** Puts a value where it belongs. Answers why it cannot: the value is then kept in `data`, under its own name. */
type Rule = (value: unknown, draft: Draft, key: string, hasRoute: HasRoute) => string | null

const UNKNOWN = 'not a key that Shoal knows: kept in data'
const TWICE = 'says the same as another key: kept in data'

const url: Rule = (value, { urls }, key) => {
  const texts = Array.isArray(value) ? value : [value]
  if (urls.length > 0) return TWICE
  // Other names than `url` may mean anything else.
  if (key !== 'url' && !texts.every((text) => typeof text === 'string' && WEB_URL.test(text))) return UNKNOWN
  if (key === 'url' && !texts.some((text) => typeof text === 'string')) return 'not a URL: kept in data'
  urls.push(...texts)
  return null
}

const urls: Rule = (value, draft) => {
  if (!Array.isArray(value)) return 'not a list of URLs: kept in data'
  draft.urls.push(...value)
  return null
}

const route: Rule = (value, draft, _key, hasRoute) => {
  if (typeof value !== 'string' || !hasRoute(value))
    return 'names no route of the spider: kept in data, and the URL decides'
  if (draft.route !== undefined) return TWICE
  draft.route = value
  return null
}

const priority: Rule = (value, draft, key) => {
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\s*[+-]?\d+(\.\d+)?\s*$/.test(value))
  if (!isNumber) return 'not a number: kept in data'
  if (draft.priority !== undefined) return TWICE
  const wanted = Number(value)
  draft.priority = clampPriority(wanted)
  if (wanted < PRIORITY_MIN || wanted > PRIORITY_MAX)
    draft.notes.push({ key, text: `outside ${PRIORITY_MIN} to ${PRIORITY_MAX}: the nearest of these is used` })
  return null
}

const again: Rule = (value, draft) => {
  const known = SWITCH.get(typeof value === 'string' ? value.toLowerCase() : value)
  if (known === undefined) return 'neither true nor false: kept in data'
  if (draft.again !== undefined) return TWICE
  draft.again = known
  return null
}

const SWITCH = new Map<unknown, boolean>([
  ...([true, 'true', 1, '1', 'yes'] as const).map((yes) => [yes, true] as const),
  ...([false, 'false', 0, '0', 'no'] as const).map((no) => [no, false] as const),
])

const data: Rule = (value, draft) => {
  draft.data.push(value)
  return null
}

const retries: Rule = () => 'a link has no limit of its own, the `retries` of the spider apply: kept in data'

const method: Rule = (value, { request }) => {
  if (typeof value !== 'string' || !/^[a-z]{1,20}$/i.test(value)) return 'not a method of HTTP: kept in data'
  request.method = value.toUpperCase()
  return null
}

const headers: Rule = (value, { request }) => {
  if (!isObject(value)) return 'not an object of texts: kept in data'
  request.headers = value
  return null
}

const cookies: Rule = (value, { request }) => {
  const read = cookiesIn(value)
  if (read === null) return 'neither an object of texts nor a list of cookies: kept in data'
  request.cookies = read
  return null
}

const body: Rule = (value, { request }) => {
  if (typeof value !== 'string') return 'not a text: kept in data'
  request.body = value
  return null
}

/** The names that entries use, without case, `_` and `-`. Of two names for one thing the upper one counts. */
const RULES: ReadonlyMap<string, Rule> = new Map([
  ['url', url],
  ['uri', url],
  ['link', url],
  ['href', url],
  ['starturl', url],
  ['urls', urls],
  ['starturls', urls],
  ['route', route],
  ['type', route],
  ['callback', route],
  // The function of a task: see envelopes.ts.
  ['task', route],
  ['priority', priority],
  ['again', again],
  ['dontfilter', again],
  ['data', data],
  ['meta', data],
  ['retries', retries],
  ['maxretries', retries],
  ['method', method],
  ['headers', headers],
  ['cookies', cookies],
  ['body', body],
])
const RANK = new Map([...RULES.keys()].map((name, rank) => [name, rank]))

/** Sorts what other programs push into what a link can have. Whatever has no place there is kept in `data`; nothing is a reason to refuse. */
export function readFields(fields: Fields, hasRoute: HasRoute): ReadFields {
  const draft: Draft = { urls: [], request: {}, data: [], notes: [] }
  const kept: [key: string, value: unknown][] = []
  for (const [key, name, value] of inOrder(fields)) {
    const rule = RULES.get(name)
    // A known name without a value says nothing. An unknown one may: it is the user's own.
    if (rule !== undefined && (value === null || value === undefined)) continue
    const reason = rule === undefined ? UNKNOWN : rule(value, draft, name, hasRoute)
    if (reason === null) continue
    if (key === '__proto__') draft.notes.push({ key, text: 'not a safe name: left out' })
    else {
      kept.push([key, value])
      draft.notes.push({ key, text: reason })
    }
  }
  const { request, notes } = readRequest(draft.request)
  draft.notes.push(...notes)
  const userData = dataOf(draft, kept)
  const { route, priority, again } = draft
  return {
    urls: draft.urls,
    rest: {
      ...(route !== undefined && { route }),
      ...(priority !== undefined && { priority }),
      ...(userData !== undefined && { data: userData as Json }),
      ...(again !== undefined && { again }),
      ...(request !== undefined && { request }),
    },
    notes: draft.notes,
  }
}

function inOrder(fields: Fields): [key: string, name: string, value: unknown][] {
  return Object.entries(fields)
    .map(([key, value]): [string, string, unknown] => [key, plainName(key), value])
    .sort(([, a], [, b]) => (RANK.get(a) ?? RULES.size) - (RANK.get(b) ?? RULES.size))
}

/** `data` as it was pushed, with `meta` and what had no other place. If a name occurs twice, the value in `data` counts. */
function dataOf({ data: given, notes }: Draft, kept: readonly [key: string, value: unknown][]): unknown {
  const [first, ...others] = given
  if (others.length === 0 && kept.length === 0) return first
  const merged = new Map<string, unknown>()
  const add = (key: string, value: unknown) => {
    if (merged.has(key)) notes.push({ key, text: 'also in data, where the value is taken from' })
    else merged.set(key, value)
  }
  for (const value of given) {
    if (isObject(value)) for (const [key, inner] of Object.entries(value)) add(key, inner)
    else add('data', value)
  }
  for (const [key, value] of kept) add(key, value)
  return Object.fromEntries(merged)
}
