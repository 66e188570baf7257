import { type Command, InvalidArgumentError } from 'commander'
import { readTime } from '../spider/convert/dates.js'
import type { RecordQuery } from '../store/record-store.js'
import { parseDuration } from '../units.js'

export interface RecordFlags {
  readonly spider?: string
  readonly kind?: string
  readonly site?: string
  readonly since?: Since
}

export function recordFilters(command: Command): Command {
  return command
    .option('--spider <name>', 'only records of this spider')
    .option('--kind <kind>', 'only records of this kind')
    .option('--site <domain>', 'only records of this site')
    .option('--since <time>', 'only records written or changed since: 2h, 7d or 2026-11-01', since)
}

/** A point in time, or a length of time back from now. */
export type Since = { readonly at: number } | { readonly agoMs: number }

export function since(text: string): Since {
  const at = /^\d{4}-/.test(text) ? readTime(text) : null
  if (at !== null) return { at }
  try {
    return { agoMs: parseDuration(text) }
  } catch {
    throw new InvalidArgumentError('Expected a duration like 2h or 7d, or a date like 2026-11-01.')
  }
}

export function recordQuery(flags: RecordFlags, now: number): RecordQuery {
  const { spider, kind, site, since: from } = flags
  return {
    ...(spider === undefined ? {} : { spider }),
    ...(kind === undefined ? {} : { kind }),
    ...(site === undefined ? {} : { site }),
    ...(from === undefined ? {} : { since: 'at' in from ? from.at : now - from.agoMs }),
  }
}
