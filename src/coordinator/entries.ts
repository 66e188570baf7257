import { type EntryNote, entryOf, type FedUrl, type ParsedEntry } from '../feed/entry/fed-url.js'
import { parseEntry } from '../feed/entry/parse-entry.js'
import { MAX_ENTRY_BYTES, type RefusedPart } from '../feed/feed.js'
import { jsonCopy, remainsOf } from '../json/copy.js'
import type { Seed, Spider } from '../spider/spider.js'
import { textOf } from '../thrown.js'
import { createAdmitter } from '../url/admit.js'
import type { Json, Link } from '../url/link.js'

/** The links of an entry, usually one, and what was rejected. */
interface ReadEntry {
  readonly links: readonly AcceptedUrl[]
  readonly refused: readonly RefusedPart[]
  readonly notes: readonly EntryNote[]
}

export interface AcceptedUrl {
  readonly link: Link
  /** An entry for this URL alone, to be set aside if the queue rejects the link. */
  text(): string
}

/** Applies the spider's filters to the entries of a feed or of a source of start URLs. `bytes`: the real size of a text that was cut. */
export function entryReader(spider: Spider): (entry: Seed, bytes?: number) => ReadEntry {
  const admitter = createAdmitter(spider.admit)
  const hasRoute = (name: string) => spider.routes.has(name)

  const admit = ({ url, again, ...options }: FedUrl): Link | string => {
    const admission = admitter.resolve(url, '', options)
    if (!admission.ok) return admission.refusal.message
    const link = admitter.link(admission.target, 0, options)
    if ('code' in link) return link.message
    return again === true ? { ...link, again: true } : link
  }

  const read = (entry: Seed, bytes?: number): ReadEntry => {
    const isText = typeof entry === 'string'
    const { fed, refused, notes } = isText ? parseEntry(entry, hasRoute, bytes) : parseSeed(entry)
    const isWhole = fed.length + refused.length === 1
    const links: AcceptedUrl[] = []
    const rejected = [...refused]
    for (const one of fed) {
      const text = () => (isWhole && isText ? entry : entryOf(one))
      const link = admit(one)
      if (typeof link === 'string') rejected.push({ text: text(), reason: link })
      else links.push({ link, text })
    }
    return { links, refused: rejected, notes }
  }

  return (entry, bytes) => {
    try {
      return read(entry, bytes)
    } catch (error) {
      // Whatever is wrong with one entry, it must not hold up those after it for ever.
      const text = typeof entry === 'string' ? entry : shownSeed(entry)
      return { links: [], refused: [{ text, reason: `it cannot be read: ${textOf(error)}` }], notes: [] }
    }
  }
}

const SEED_KEYS = ['url', 'route', 'priority', 'data', 'again']

/** An object comes from the spider's own code, where an unknown key is a mistake and not the habit of another program. */
function parseSeed(given: unknown): ParsedEntry {
  const refuse = (reason: string): ParsedEntry => ({
    fed: [],
    refused: [{ text: shownSeed(given), reason }],
    notes: [],
  })
  if (typeof given !== 'object' || given === null) return refuse('it is neither a URL nor an object')
  let copy: Json
  try {
    copy = jsonCopy(given)
  } catch (error) {
    return refuse(`it is not JSON: ${textOf(error)}`)
  }
  if (typeof copy !== 'object' || copy === null) return refuse('it is neither a URL nor an object')
  const seed = copy as Readonly<Record<string, Json>>
  const unknown = Object.keys(seed).find((key) => !SEED_KEYS.includes(key))
  if (unknown !== undefined) return refuse(`it has an unknown key ${JSON.stringify(unknown.slice(0, 60))}`)
  const { url, route, priority, data, again } = seed
  if (typeof url !== 'string') return refuse('it has no url')
  if (route !== undefined && typeof route !== 'string') return refuse('route is not a text')
  if (priority !== undefined && typeof priority !== 'number') return refuse('priority is not a number')
  if (again !== undefined && typeof again !== 'boolean') return refuse('again is neither true nor false')
  if (data !== undefined && JSON.stringify(data).length > MAX_ENTRY_BYTES)
    return refuse(`its data has more than ${MAX_ENTRY_BYTES} bytes`)
  const fed: FedUrl = {
    url: url.trim(),
    ...(route !== undefined && { route }),
    ...(priority !== undefined && { priority }),
    ...(data !== undefined && { data }),
    ...(again !== undefined && { again }),
  }
  return { fed: [fed], refused: [], notes: [] }
}

/** The whole of it, if it is JSON: an entry that says the same. */
function shownSeed(seed: unknown): string {
  try {
    return JSON.stringify(jsonCopy(seed))
  } catch {
    return remainsOf(seed)
  }
}
