import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { FeedPlace } from '../feed/feed.js'
import type { FetchLimits, RenderWish } from '../fetch/fetcher.js'
import type { Budget, Limits, Seen } from '../frontier/frontier.js'
import type { MergeRules } from '../merge/rules.js'
import type { Outlet } from '../outlets/outlet.js'
import type { AdmitRules } from '../url/admit.js'
import type { HostKey, Json, RequestExtras } from '../url/link.js'
import type { BanCheck, SessionDefinition } from './definition.js'
import type { Page } from './page.js'
import type { Schedule } from './schedule.js'
import type { CheckedSeedSource } from './seed-source-schema.js'

/**
 * A spider as the rest of Shoal sees it: checked, defaults filled in, durations in milliseconds, selectors compiled.
 * What a user writes is in definition.ts; resolve.ts turns one into the other.
 */
export interface Spider {
  readonly name: string
  /** Hash of the file it came from (or of its text form when defined in a program). */
  readonly hash: string
  readonly start: readonly string[]
  /** Further seeds, always in the same order. */
  readonly seeds: (() => Iterable<Seed> | AsyncIterable<Seed>) | null
  /** Declared sources of seeds, instead. */
  readonly sources: readonly CheckedSeedSource[]
  /** Null: a crawl ends with its last page. */
  readonly feed: SpiderFeed | null
  /** The door: scope, depth, traps, canonical form, and which route a URL belongs to. */
  readonly admit: AdmitRules
  readonly routes: ReadonlyMap<string, Route>
  readonly records: ReadonlyMap<string, RecordKind>
  readonly limits: Limits
  /** Of the groups of its pace. */
  readonly keyLimits: Readonly<Record<HostKey, Limits>>
  /** Null: exactly, by its own crawl, for ever. */
  readonly seen: Seen | null
  readonly order: 'priority' | 'fifo' | 'lifo'
  /** `strict`: a robots.txt that answers 401 or 403 forbids everything. */
  readonly robots: boolean | 'strict'
  readonly userAgent: string
  readonly headers: Readonly<Record<string, string>>
  readonly allowPrivate: readonly string[]
  readonly fetch: FetchLimits & { readonly maxRedirects: number }
  /** Null: no request of it goes through a proxy. */
  readonly proxies: SpiderProxies | null
  /** Null: nothing is remembered from one request to the next. */
  readonly session: SpiderSession | null
  readonly maxLinksPerPage: number
  readonly maxThrottles: number
  readonly retryPriorityStep: number
  readonly visibilityMs: number
  readonly heartbeatMs: number
  readonly maxPending: number
  readonly overflow: 'refuse' | 'keep'
  readonly budget: Budget
  /** Null: crawls begin when somebody starts them. */
  readonly schedule: Schedule | null
  /** Pages that did not change since the last crawl are not handled again. */
  readonly recrawl: boolean
  readonly savePages: boolean
  readonly outlets: readonly Outlet[]
}

/** A URL, or more of it; looked at where it is used, because no compiler has seen what a JavaScript file gives. */
export type Seed = string | Readonly<Record<string, unknown>>

export interface SpiderFeed extends FeedPlace {
  /** A crawl whose queue and feed have been empty for so long ends; null: never. */
  readonly idleMs: number | null
}

/** How a spider goes out, when some of its routes take proxies. `limits` of the spider are then those of one proxy on a host. */
export interface SpiderProxies {
  readonly choose: 'cheapest' | 'rotate' | 'weighted'
  /** Of a host over all proxies; null: as much as the proxies can do. */
  readonly ceiling: Limits | null
  readonly banned: ((answer: BanCheck) => boolean) | null
  /** Those of its routes, each once; DIRECT among them when a route takes none. */
  readonly needs: readonly ProxyNeed[]
}

export interface SpiderSession {
  readonly cookies: boolean
  /** Null: as the pool of the proxy says. */
  readonly requests: number | null
  readonly timeMs: number | null
  /** Empty: the spider's own. */
  readonly userAgents: readonly string[]
  readonly login: SessionDefinition['login'] | null
}

export interface ProxyNeed {
  readonly pool: string
  readonly country: string | null
}

/** No pool can be called so: the way out without a proxy, of a spider that has proxies for other routes. */
export const DIRECT: ProxyNeed = { pool: '(direct)', country: null }

export interface RecordKind {
  readonly schema: StandardSchemaV1 | null
  readonly freshMs: number
  /** Versions that are replaced are kept. */
  readonly history: boolean
  /** Null: every record stands for itself. */
  readonly merge: KindMerge | null
}

export interface KindMerge {
  /** What the data describes; null: nothing that others could describe too. Fails with `handler_error`. */
  identity(data: Json): string | null
  /** An identity as a person writes it, in its one spelling; null: it is none. */
  spelling(text: string): string | null
  readonly rules: MergeRules
}

export interface Route {
  readonly name: string
  /** The patterns that lead to it; a link may also name it. */
  readonly match: readonly (string | RegExp)[]
  readonly priority: number
  readonly retries: RetryPolicy
  /** A lane of its own, when the route has limits. */
  readonly limits: Limits | null
  readonly handlerTimeoutMs: number
  /** Null: the spider takes no proxies. */
  readonly proxy: ProxyNeed | null
  /** Null: never. */
  readonly render: RouteRender | null
  /** It has fields or a handler; without them it only follows links. */
  readonly givesRecords: boolean
  /** Checks the user data of a link that enters the route; null when anything goes. */
  readonly data: StandardSchemaV1 | null
  /**
   * What the route makes of a page: link rules, fields and the user's handler, then the steps and the schemas, in this order. A plain
   * value when nothing in between was asynchronous. Fails with `handler_error`, whose cause is what the user's code threw. `ruleLinks` false
   * leaves out the link rules, for whoever has no use for links.
   */
  harvest(page: Page, ruleLinks?: boolean): Harvest | Promise<Harvest>
}

/** How pages of a route are rendered in a browser. */
/** At least one route needs a browser. */
export function rendersPages({ routes }: Spider): boolean {
  return [...routes.values()].some(({ render }) => render !== null)
}

export interface RouteRender {
  readonly when: 'always' | 'fallback'
  readonly wish: RenderWish
  /** Fails with `handler_error`. */
  needed(page: Page): boolean
}

/** `max` more fetches after the first; waits between them. */
export interface RetryPolicy {
  readonly max: number
  readonly backoff: Backoff
}

export type Backoff =
  | { readonly kind: 'list'; readonly ms: readonly number[] }
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'exponential'; readonly baseMs: number; readonly capMs: number; readonly jitter: number }

/** What a page gave, still in memory: nothing is stored or queued before the worker says so. */
export interface Harvest {
  readonly records: readonly HarvestedRecord[]
  readonly rejected: readonly RejectedHarvest[]
  readonly links: readonly FoundLink[]
}

export interface HarvestedRecord {
  readonly kind: string
  readonly key: string
  readonly data: Json
}

/** A record that did not fit its schema, with the data as it was found. `key` is '' when the page gave none. */
export interface RejectedHarvest extends HarvestedRecord {
  readonly issues: readonly { readonly field: string; readonly message: string }[]
}

/** A link as it stands on the page: not resolved, not judged. */
export interface FoundLink {
  readonly href: string
  /** Another page of the same list: as many clicks from the start as this one. */
  readonly beside?: true
  readonly route?: string
  readonly priority?: number
  readonly data?: Json
  readonly request?: RequestExtras
  readonly dedupeKey?: string
  readonly delayMs?: number
  readonly group?: string
}
