import { parseLossless } from '../../json/lossless.js'
import { type EntryNote, type Fields, isObject, plainName, WEB_URL } from './fed-url.js'

/** The keys of an entry, taken out of the message of a task queue; or why that is impossible. */
type Opened = { readonly fields: Fields; readonly notes: readonly EntryNote[] } | { readonly reason: string }

/** One kind of message. Null: the entry is none. */
type Envelope = (entry: Fields) => Opened | null

/** Under these names other programs put an object with the URL in it. BullMQ: `data`. */
const INNER = ['data', 'payload', 'request', 'job']
/** What is called is the name of the route, if the spider has such a one. rq: `func`; Sidekiq and Resque: `class`; Dramatiq: `actor_name`; BullMQ: `name`. */
const CALLED = new Set(['func', 'funcname', 'class', 'jobclass', 'wrapped', 'actorname', 'name'])

/** How the task queue keeps track of the task; of no use to a page. */
const BOOKKEEPING = new Set([
  // Celery
  ...['eta', 'expires', 'utc', 'retries', 'timelimit', 'callbacks', 'errbacks', 'chord', 'taskset', 'chain', 'group'],
  ...['groupindex', 'rootid', 'parentid', 'argsrepr', 'kwargsrepr', 'origin', 'shadow', 'lang', 'ignoreresult'],
  ...['replacedtasknesting', 'stamps', 'stampedheaders', 'replyto', 'correlationid', 'deliverymode', 'deliveryinfo'],
  ...['deliverytag', 'bodyencoding', 'compression', 'contenttype', 'contentencoding'],
  // rq, Sidekiq, Resque, Dramatiq
  ...['createdat', 'enqueuedat', 'startedat', 'endedat', 'status', 'timeout', 'ttl', 'resultttl', 'failurettl'],
  ...['description', 'queue', 'queuename', 'retry', 'retrycount', 'messagetimestamp', 'options', 'instance'],
  // BullMQ
  ...['opts', 'timestamp', 'attemptsmade', 'attemptsstarted', 'delay', 'stacktrace', 'returnvalue', 'finishedon'],
  ...['processedon', 'progress'],
])

const LEFT_OUT = 'how a task queue keeps track of a task: left out'

/**
 * Celery on Redis: properties, headers and a body that is usually base64. Protocol 2 has [args, kwargs, embed] in the body and the name of the task in
 * the headers; protocol 1 has all of it in the body.
 */
const celery: Envelope = (entry) => {
  const { body, headers, properties } = entry
  if (typeof body !== 'string' || !isObject(headers) || !isObject(properties)) return null
  const kind = String(entry['content-type'] ?? 'application/json')
  if (!kind.endsWith('json'))
    return { reason: `it is a Celery task whose body is ${kind.slice(0, 60)}, not JSON: set task_serializer = 'json'` }
  const packed = headers.compression
  if (typeof packed === 'string')
    return {
      reason: `it is a Celery task whose body is compressed (${packed.slice(0, 60)}): set task_compression = None`,
    }
  const text = properties.body_encoding === 'base64' ? Buffer.from(body, 'base64').toString('utf8') : body
  const content = jsonIn(text)
  if (isObject(content)) return called(content)
  if (!Array.isArray(content)) return { reason: 'it is a Celery task whose body cannot be read' }
  const [args, kwargs]: unknown[] = content
  return called({ ...headers, args, kwargs })
}

/** A call: Celery protocol 1, rq-style, Sidekiq, Resque, Dramatiq. */
const call: Envelope = (entry) =>
  Array.isArray(entry.args) || isObject(entry.kwargs) || Array.isArray(entry.arguments) ? called(entry) : null

/** BullMQ, and whoever else puts the URL one level down. */
const wrapped: Envelope = (entry) => {
  for (const key of INNER) {
    const inner = objectIn(entry[key])
    if (inner === null || !hasUrl(inner)) continue
    const { [key]: _inner, ...outer } = entry
    const { fields, notes } = withoutBookkeeping(outer)
    return { fields: { ...fields, ...inner }, notes }
  }
  return null
}

const ENVELOPES: readonly Envelope[] = [celery, call, wrapped]

/** An entry with a URL of its own is taken as it is. */
export function openEnvelope(entry: Fields): Opened {
  if (!hasUrl(entry)) {
    for (const open of ENVELOPES) {
      const opened = open(entry)
      if (opened !== null) return opened
    }
  }
  return { fields: entry, notes: [] }
}

/** The URL is the first argument that is or has one. Named arguments are keys of the entry, and the other arguments stay together. */
function called(entry: Fields): Opened {
  const { args, arguments: more, kwargs, ...outer } = entry
  const list: readonly unknown[] = Array.isArray(args) ? args : Array.isArray(more) ? more : []
  const named = isObject(kwargs) ? kwargs : {}
  const { fields, notes } = withoutBookkeeping(outer)
  const at = hasUrl(named) ? -1 : list.findIndex((arg) => urlsIn(arg) !== null)
  const others = list.filter((_, n) => n !== at)
  return {
    fields: {
      ...fields,
      ...(others.length > 0 && { args: others }),
      ...named,
      ...(at === -1 ? {} : urlsIn(list[at])),
    },
    notes,
  }
}

/** An argument with a URL, as keys of an entry. */
function urlsIn(arg: unknown): Fields | null {
  if (isWebUrl(arg)) return { url: arg }
  if (Array.isArray(arg) && arg.length > 0 && arg.every(isWebUrl)) return { urls: arg }
  const object = objectIn(arg)
  return object !== null && hasUrl(object) ? object : null
}

function withoutBookkeeping(outer: Fields): { fields: Fields; notes: EntryNote[] } {
  const fields: [string, unknown][] = []
  const notes: EntryNote[] = []
  for (const [key, value] of Object.entries(outer)) {
    const name = plainName(key)
    if (BOOKKEEPING.has(name)) notes.push({ key, text: LEFT_OUT })
    else fields.push([CALLED.has(name) ? 'task' : key, value])
  }
  return { fields: Object.fromEntries(fields), notes }
}

function hasUrl(entry: Fields): boolean {
  return Object.entries(entry).some(([key, value]) => {
    const name = plainName(key)
    return name === 'url' || name === 'urls' || (URL_NAMES.has(name) && isWebUrl(value))
  })
}

const URL_NAMES = new Set(['uri', 'link', 'href', 'starturl', 'starturls'])

function isWebUrl(value: unknown): value is string {
  return typeof value === 'string' && WEB_URL.test(value)
}

function objectIn(value: unknown): Fields | null {
  const read = typeof value === 'string' && value.startsWith('{') ? jsonIn(value) : value
  return isObject(read) ? read : null
}

function jsonIn(text: string): unknown {
  try {
    return parseLossless(text)
  } catch {
    return null
  }
}
