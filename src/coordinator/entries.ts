import { type FedUrl, type ParsedEntry, parseEntry, parseFields } from '../feed/feed.js'
import type { Seed, Spider } from '../spider/spider.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'

/** A link, or why it was rejected. */
export type ReadEntry = { readonly ok: true; readonly link: Link } | { readonly ok: false; readonly reason: string }

/** Applies the spider's filters to the entries of a feed or of a source of start URLs. */
export function entryReader(spider: Spider): (entry: Seed) => ReadEntry {
  const admitter = createAdmitter(spider.admit)

  const admit = ({ url, again, ...options }: FedUrl): ReadEntry => {
    const admission = admitter.resolve(url, '', options)
    if (!admission.ok) return { ok: false, reason: admission.refusal.message }
    const link = admitter.link(admission.target, 0, options)
    if ('code' in link) return { ok: false, reason: link.message }
    return { ok: true, link: again === true ? { ...link, again: true } : link }
  }

  return (entry) => {
    const parsed: ParsedEntry = typeof entry === 'string' ? parseEntry(entry) : parseFields(entry)
    return parsed.ok ? admit(parsed.fed) : parsed
  }
}
