import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { FeedPlace } from '../feed/feed.js'
import type { FetchLimits, RenderWish } from '../fetch/fetcher.js'
import type { NamedCount } from '../frontier/counts.js'
import type { Budget, CrawlArgs, Limits, Seen } from '../frontier/frontier.js'
import type { MergeRules } from '../merge/merge-records.js'
import type { Outlet } from '../outlets/outlet.js'
import type { DeclaredRoute } from '../quality/match-tally.js'
import type { AdmitRules, LinkOptions } from '../url/admit.js'
import type { HostKey, Json } from '../url/link.js'
import type { BanCheck, SessionDefinition } from './definition.js'
import type { FieldDefinition } from './fields.js'
import type { Page } from './page.js'
import type { Schedule } from './schedule.js'
import type { SpiderSecret } from './secrets.js'
import type { CheckedSeedSource } from './seed-source-schema.js'

/**
 * A spider as the rest of Shoal sees it: validated, defaults filled in, durations in milliseconds, selectors compiled. What a user writes is in
 * definition.ts; resolve.ts turns one into the other.
 */
export interface Spider {
  readonly name: string
  /** Hash of the file it came from (or of its text form if it was defined in a program); the arguments are no part of it. */
  readonly hash: string
  /** Null: it takes no arguments. */
  readonly args: SpiderArguments | null
  readonly start: readonly string[]
  /** More seeds, always in the same order. */
  readonly seeds: (() => Iterable<Seed> | AsyncIterable<Seed>) | null
  /** Declared sources of seeds, instead. */
  readonly sources: readonly CheckedSeedSource[]
  /** Null: a crawl ends with its last page. */
  readonly feed: SpiderFeed | null
  /** The filter: scope, depth, traps, canonical form, and which route a URL belongs to. */
  readonly admit: AdmitRules
  readonly routes: ReadonlyMap<string, Route>
  readonly records: ReadonlyMap<string, RecordKind>
  readonly limits: Limits
  /** Those of its pace groups. */
  readonly keyLimits: Readonly<Record<HostKey, Limits>>
  /** Null: exactly, by its own crawl, forever. */
  readonly seen: Seen | null
  readonly order: 'priority' | 'fifo' | 'lifo'
  /** `strict`: a robots.txt that answers 401 or 403 forbids everything. */
  readonly robots: boolean | 'strict'
  readonly userAgent: string
  readonly headers: Readonly<Record<string, string>>
  /** What its headers, and those and the bodies of its links, refer to. */
  readonly secrets: readonly SpiderSecret[]
  readonly allowPrivate: readonly string[]
  readonly fetch: FetchLimits & { readonly maxRedirects: number }
  /** Null: none of its requests uses a proxy. */
  readonly proxies: SpiderProxies | null
  /** Null: nothing is kept from one request to the next. */
  readonly session: SpiderSession | null
  readonly maxLinksPerPage: number
  readonly maxThrottles: number
  readonly retryPriorityStep: number
  readonly visibilityMs: number
  readonly heartbeatMs: number
  readonly maxPending: number
  readonly overflow: 'refuse' | 'keep'
  readonly budget: Budget
  /** Null: crawls start only by hand. */
  readonly schedule: Schedule | null
  /** Pages that did not change since the last crawl are not handled again. */
  readonly recrawl: boolean
  readonly savePages: boolean
  readonly outlets: readonly Outlet[]
}

/** What a spider with arguments was built with. Crawls of one spider may have different ones: each is worked on by the spider that `build` returns. */
interface SpiderArguments {
  /** As they were given, before the schema filled in defaults. */
  readonly given: CrawlArgs
  /** Whether they come to the same once the schema has read them: `max=5` is the same as none if 5 is its default. */
  readonly isSame: (other: CrawlArgs) => boolean
  readonly build: (other: CrawlArgs) => Spider
}

/** A URL, or an entry with more than that; validated where it is used, because no compiler has checked what a JavaScript file provides. */
export type Seed = string | Readonly<Record<string, unknown>>

export interface SpiderFeed extends FeedPlace {
  /** A crawl ends when its queue and feed have been empty for this long; null: never. */
  readonly idleMs: number | null
}

/** How a spider uses proxies, if some of its routes do. `limits` of the spider are then those of one proxy on a host. */
export interface SpiderProxies {
  readonly choose: 'cheapest' | 'rotate' | 'weighted'
  /** For a host across all proxies; null: as much as the proxies allow. */
  readonly ceiling: Limits | null
  readonly banned: ((answer: BanCheck) => boolean) | null
  /** Those of its routes, each once; includes DIRECT if a route uses none. */
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

/** No pool can have this name: a request without a proxy, of a spider that has proxies for other routes. */
export const DIRECT: ProxyNeed = { pool: '(direct)', country: null }

export interface RecordKind {
  readonly schema: StandardSchemaV1 | null
  readonly freshMs: number
  /** Replaced versions are kept. */
  readonly history: boolean
  /** Null: records are not merged. */
  readonly merge: KindMerge | null
}

export interface KindMerge {
  /** What the data describes; null: nothing that could be merged. Fails with `handler_error`. */
  identity(data: Json): string | null
  /** An identity as a person writes it, normalised; null: it is not one. */
  spelling(text: string): string | null
  readonly rules: MergeRules
}

export interface Route {
  readonly name: string
  /** The patterns that lead to it; a link may also name it. */
  readonly match: readonly (string | RegExp)[]
  readonly priority: number
  readonly retries: RetryPolicy
  /** If the route has limits, it gets a lane of its own. */
  readonly limits: Limits | null
  readonly handlerTimeoutMs: number
  /** Null: the spider uses no proxies. */
  readonly proxy: ProxyNeed | null
  /** Null: never. */
  readonly render: RouteRender | null
  /** It has fields or a handler; without them it only follows links. */
  readonly givesRecords: boolean
  /** Its rules as they were written, for reports about a page. */
  readonly rules: DeclaredRules
  /** Its follow rules and fields, for counting what they find. */
  readonly declared: DeclaredRoute
  /** Validates the data of a link that enters the route; null if anything is allowed. */
  readonly data: StandardSchemaV1 | null
  /**
   * What the route produces from a page: link rules, fields and the user's handler, then the steps and the schemas, in this order. A plain value if
   * nothing in between was asynchronous. Fails with `handler_error`, whose cause is what the user's code threw. `ruleLinks` false leaves out the link
   * rules, if the caller does not need links.
   */
  harvest(page: Page, ruleLinks?: boolean): Harvest | Promise<Harvest>
}

interface DeclaredRules {
  readonly fields: Readonly<Record<string, FieldDefinition>>
  /** What the fields become; without a key field the page's URL is the key. */
  readonly record: { readonly kind: string; readonly key: string | null } | null
  /** Several records per page: one for each match of this selector or path; null: one. */
  readonly each: string | null
  readonly follow: readonly DeclaredFollow[]
  /** It follows the other pages of a list. */
  readonly pages: boolean
  readonly handler: boolean
}

export interface DeclaredFollow {
  readonly links: string
  readonly route?: string | undefined
  readonly priority?: number | undefined
  readonly nofollow: boolean
  readonly allow: readonly (string | RegExp)[]
  readonly deny: readonly (string | RegExp)[]
}

/** At least one route needs a browser. */
export function rendersPages({ routes }: Spider): boolean {
  return [...routes.values()].some(({ render }) => render !== null)
}

/** How pages of a route are rendered in a browser. */
export interface RouteRender {
  readonly when: 'always' | 'fallback'
  readonly wish: RenderWish
  /** Fails with `handler_error`. */
  needed(page: Page): boolean
}

export interface RetryPolicy {
  readonly max: number
  readonly backoff: Backoff
}

export type Backoff =
  | { readonly kind: 'list'; readonly ms: readonly number[] }
  | { readonly kind: 'fixed'; readonly ms: number }
  | { readonly kind: 'exponential'; readonly baseMs: number; readonly capMs: number; readonly jitter: number }

/** What a page produced, still in memory: nothing is stored or queued until the worker does it. */
export interface Harvest {
  readonly records: readonly HarvestedRecord[]
  readonly rejected: readonly RejectedHarvest[]
  readonly links: readonly FoundLink[]
  /** The lines of `page.log`; left out by a page that logged nothing, as most do. They were reported when they were written. */
  readonly logs?: readonly string[]
  /** What `page.count` counted; left out with `logs`. */
  readonly counts?: readonly NamedCount[]
  /** How many of them each follow rule found; left out where no rules ran. */
  readonly linksByRule?: readonly number[] | undefined
}

export interface HarvestedRecord {
  readonly kind: string
  readonly key: string
  readonly data: Json
}

/** A record that did not match its schema, with the data as it was found. `key` is '' if the page gave none. */
export interface RejectedHarvest extends HarvestedRecord {
  readonly issues: readonly { readonly field: string; readonly message: string }[]
  /** It is not JSON, whatever its schema says: the data is what remains of it. */
  readonly reason?: 'quarantined'
}

/** A link as the page has it: neither resolved nor checked. */
export interface FoundLink extends LinkOptions {
  readonly href: string
  /** Another page of the same list: as many clicks from the start as this one. */
  readonly sameDepth?: true
}
