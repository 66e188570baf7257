import type { Json, RequestExtras } from '../../url/link.js'
import type { RefusedPart } from '../feed.js'

/** What an entry says about one URL, before anybody has checked whether the spider wants it. */
export interface FedUrl {
  readonly url: string
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly again?: boolean
  readonly request?: RequestExtras
}

/** Something in an entry was not taken as it is. The text is the same for every entry, so that it can be reported once. */
export interface EntryNote {
  readonly key: string
  readonly text: string
}

export interface ParsedEntry {
  readonly fed: readonly FedUrl[]
  readonly refused: readonly RefusedPart[]
  readonly notes: readonly EntryNote[]
}

/** A JSON object, as another program pushed it. */
export type Fields = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** With its scheme: how a URL among the arguments of a task is recognised. */
export const WEB_URL = /^\s*https?:\/\//i

/** `max_retries`, `maxRetries` and `Max-Retries` are one name. */
export function plainName(key: string): string {
  return key.toLowerCase().replace(/[_-]/g, '')
}

/** As an entry that says the same: for one URL of several that is refused and may be retried. */
export function entryOf({ request, ...fed }: FedUrl): string {
  return JSON.stringify({ ...fed, ...request })
}
