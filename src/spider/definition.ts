import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { StoredRecord } from '../store/record-store.js'
import type { Duration, Rate, Size } from '../units.js'
import type { Json, RequestExtras } from '../url/link.js'
import type { FieldDefinition } from './fields.js'
import type { Page } from './page.js'
import type { SeedFunction, SeedSourceDefinition } from './seed-sources.js'

/**
 * What a user writes. The compiler checks route names, record kinds, fields and the data of links, all inferred from this one object:
 * `Kinds` from `records`, `Data` (route name → type of its links' data) from the routes.
 */
export interface SpiderDefinition<
  Kinds extends RecordDefinitions = RecordDefinitions,
  Data = Readonly<Record<string, unknown>>,
> {
  /** Letters, digits, dot, dash and underscore. Records belong to this name. */
  readonly name: string
  /** Where a crawl begins: absolute URLs, each inside the scope. May be left out by a spider with `seeds` or `feed`. */
  readonly start?: readonly string[]
  /**
   * More start URLs than one would write down: sources like `sitemap()`, `csv()` or `range()`, or a function that gives them one by one, always
   * in the same order. A crawl that was killed in the middle goes on where it was. One that the scope refuses is left out and told.
   */
  readonly seeds?: SeedFunction | readonly SeedSourceDefinition[]
  /** Other programs push URLs: a crawl stays open for them instead of ending with its last page. */
  readonly feed?: true | FeedDefinition
  readonly scope?: ScopeDefinition
  /** For each host, over all workers and crawls; or for what `pace.per` and `pace.groups` say. */
  readonly pace?: SpiderPaceDefinition
  /** `priority` (default): higher numbers first. */
  readonly order?: 'priority' | 'fifo' | 'lifo'
  /** Added to the priority for each click from the start: negative goes breadth first, positive depth first. Default 0. */
  readonly depthPriority?: number
  readonly records?: Kinds
  readonly routes: { readonly [Name in keyof Data]: RouteDefinition<Data[Name], NoInfer<Data>, NoInfer<Kinds>> }
  /** Run in order on every record before it is checked and stored; null leaves the record out. */
  readonly steps?: readonly Step<NoInfer<Kinds>>[]
  /** For routes that say nothing else. Default: 3 more fetches, exponential from 1 s to 5 min with jitter. */
  readonly retries?: RetriesDefinition
  /** How often a host may ask for time (429, 503) on one link before the link is dead. Default 10. */
  readonly maxThrottles?: number
  /** A retry returns this much lower. Default 10. */
  readonly retryPriorityStep?: number
  /**
   * Respect robots.txt. Default true; false is for sites that are yours. `strict`: one that is kept from us (401, 403) forbids everything, where the
   * standard has it forbid nothing.
   */
  readonly robots?: boolean | 'strict'
  readonly userAgent?: string
  /** Shown in the default user agent, so that a site's owner can write to you: a URL or a mail address. */
  readonly contact?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Private and loopback addresses that may be fetched, and posted to by webhooks: 'host:port', or 'host:*' for any port. */
  readonly allowPrivate?: readonly string[]
  readonly fetch?: FetchDefinition
  /** The pool of proxies to go through. `pace` is then the pace of each proxy on a host. Default: none. */
  readonly proxy?: string | SpiderProxyDefinition
  /** Visitors as a site sees them: cookies, user agent and proxy come and go together. Default: no cookies are kept. */
  readonly session?: SessionDefinition
  readonly lease?: LeaseDefinition
  /** How long a handler may run. Default 60 s. */
  readonly handlerTimeout?: Duration
  /** What "seen before" means. Default: exactly, by this crawl, for ever. */
  readonly dedupe?: DedupeDefinition
  /** Links waiting at most. Default 1,000,000. */
  readonly maxPending?: number
  /** What happens to links found above maxPending: refused and counted (default), or kept all the same. */
  readonly overflow?: 'refuse' | 'keep'
  readonly budget?: BudgetDefinition
  /**
   * A new crawl takes only what changed since the last one: pages are asked for with If-None-Match and If-Modified-Since, and one that is the same
   * as before is not handled again. Its records are confirmed, its links followed. Default false.
   */
  readonly recrawl?: boolean
  /**
   * When a new crawl begins by itself, as cron writes it ('0 3 * * *', with six parts the first are seconds), for `shoal schedule run` and
   * `shoal worker --schedule`.
   */
  readonly schedule?: string | ScheduleDefinition
  /** Keep the raw pages. Default false. */
  readonly savePages?: boolean
  /** Where records go as they are written, beside the store: Redis, webhooks. */
  readonly outlets?: readonly OutletDefinition[]
}

export interface ScheduleDefinition {
  readonly cron: string
  /** As in 'Europe/Berlin'. Default 'UTC'. */
  readonly timezone?: string
  /** A turn while the last crawl is not finished: left out (default), or begun when that is finished. At most one waits. */
  readonly overlap?: 'skip' | 'queue'
}

export interface FeedDefinition {
  /** The Redis list or stream. Default `shoal:feed:<name>`. */
  readonly redisKey?: string
  /** It is a stream, read by a consumer group; otherwise a list. Default false. */
  readonly stream?: boolean
  /** The consumer group of a stream. Default 'shoal'. */
  readonly group?: string
  /** A crawl ends when its queue and its feed have been empty for so long. Without it a fed crawl never ends by itself. */
  readonly idleTimeout?: Duration
}

export type OutletDefinition = RedisOutletDefinition | WebhookOutletDefinition

interface OutletBasics {
  /** What it is called beside the name of the spider. Default `list`, `stream`, `hash` or `webhook`. */
  readonly name?: string
  /** Records of these kinds only. Default: all. */
  readonly kinds?: readonly string[]
  /** Records handed over at once. Default 100. */
  readonly batch?: number
}

export interface RedisOutletDefinition extends OutletBasics {
  /** `list`: pushed on the right, take from the left. `stream`: the field `record` of an entry. `hash`: one field for each URL. */
  readonly redis: 'list' | 'stream' | 'hash'
  /** Default `shoal:<spider>:items`, of a stream `shoal:<spider>:stream`, of a hash `shoal:<spider>:records`. */
  readonly key?: string
  /** Default: the server of the queue. */
  readonly address?: string
  /** The oldest items beyond it are dropped and counted. Default 100,000; of a hash: no end. */
  readonly maxLength?: number
  /** What goes in for a record. Default: the record as JSON. */
  readonly serialize?: (record: StoredRecord) => string | Uint8Array
  /** The field of a hash. Default: the URL, where the last of several records of a page stays. */
  readonly field?: (record: StoredRecord) => string
}

export interface WebhookOutletDefinition extends OutletBasics {
  /** Where batches are posted. */
  readonly webhook: string
  /** The environment variable that holds the secret with which batches are signed. Without it they are not. */
  readonly secretEnv?: string
  /** For one answer. Default 30 s. */
  readonly timeout?: Duration
}

export interface ScopeDefinition {
  /** 'example.com', 'example.com:8080', '*.example.com' (its subdomains only) or '*' (any). Default: the hosts of `start`, which a spider without start URLs must name here. */
  readonly hosts?: readonly string[]
  /** Subdomains of each host as well. Default false. */
  readonly subdomains?: boolean
  /** Only URLs that match one of these. */
  readonly allow?: Patterns
  /** Never URLs that match one of these. */
  readonly deny?: Patterns
  /** Clicks from a start URL at most. Default 50. */
  readonly maxDepth?: number
  /** Default 2048. */
  readonly maxUrlLength?: number
  /** Default 5000. */
  readonly maxLinksPerPage?: number
  /** Guards against endless sites; false switches all of them off. */
  readonly traps?: TrapsDefinition | false
  readonly canonical?: CanonicalDefinition
}

/**
 * A string is a pattern of the path (`/catalogue/*`) or of the whole URL (`https://example.com/*`) and takes linear time. A regular
 * expression is tested against the whole URL, on every link: one that backtracks, like `(a+)+$`, can stop a worker.
 */
export type Pattern = string | RegExp
export type Patterns = Pattern | readonly Pattern[]

export interface TrapsDefinition {
  /** Default 30. */
  readonly maxSegments?: number
  /** The same path segment in a row. Default 2. */
  readonly maxRepeat?: number
  /** Default 20. */
  readonly maxParams?: number
  /** Default true. */
  readonly sessionIds?: boolean
  /** Default true. */
  readonly calendars?: boolean
}

export interface CanonicalDefinition {
  /** Query parameters to drop beside the known tracking parameters; a trailing * matches the rest of the name. */
  readonly dropParams?: readonly string[]
  /** Default true. */
  readonly sortParams?: boolean
  /** Default 'keep'. */
  readonly trailingSlash?: 'keep' | 'strip'
  /** Changes the URL in place; twice must be the same as once. */
  readonly rewrite?: (url: URL) => void
}

export interface PaceDefinition {
  /** Between the starts of two requests. Default 1 s. */
  readonly delay?: Duration
  readonly rate?: Rate
  /** Requests a rate lets through at once after a rest. Default 1. */
  readonly burst?: number
  /** Requests at once. Default 4. */
  readonly concurrency?: number
}

export interface SpiderPaceDefinition extends PaceDefinition {
  /** `host` (default): each by itself, with its port. `domain`: all hosts of a registrable domain together, `shop.example.co.uk` and `example.co.uk`. */
  readonly per?: 'host' | 'domain'
  /**
   * A host that answers slowly or with errors is asked less often, by all workers alike, and at the old pace once it is well again. Default true:
   * about `concurrency` requests under way, up to ten times the delay. Without a delay there is none.
   */
  readonly adaptive?: boolean | AdaptiveDefinition
  /** URLs with a pace in common, whatever their hosts: the first group that matches. */
  readonly groups?: readonly PaceGroupDefinition[]
}

/** The delay follows the host's mean answer time ÷ `target`, between `delay` and `maxDelay`. */
interface AdaptiveDefinition {
  /** Requests under way that the host should have on average. Default: `concurrency`. */
  readonly target?: number
  /** Default: ten times the delay. */
  readonly maxDelay?: Duration
}

/** Limits left out are those of the spider. */
export interface PaceGroupDefinition extends PaceDefinition {
  /** Spiders that share the queue and name a group alike share its pace: an API key, an account, a way out. */
  readonly name: string
  /** Without it links come here only by name: `out.follow(url, { group })`. */
  readonly match?: Patterns
}

/** SpiderProxies of remembering that only some queues have: one that has not says so when the crawl is opened. */
export interface DedupeDefinition {
  /**
   * `exact` (default). `bloom`: a few bits a URL, and a small share of new URLs wrongly taken for known. `set`: exact, as a plain set that
   * other programs can read.
   */
  readonly mode?: 'exact' | 'bloom' | 'set'
  /** Who has seen it: this crawl (default), any crawl of this spider, any crawl of the queue. */
  readonly scope?: 'crawl' | 'spider' | 'site'
  /**
   * Seen so long ago counts as new: forgotten after this at the earliest, after twice this at the latest. Longer than a link may wait in the
   * queue, or it is visited twice. Default: never.
   */
  readonly ttl?: Duration
  /** The share that `bloom` gets wrong. Default 0.001. */
  readonly errorRate?: number
}

export interface RetriesDefinition {
  /** Fetches after the first one. */
  readonly max?: number
  /** Waits; a list shorter than max repeats its last one. */
  readonly backoff?: BackoffDefinition
}

export type BackoffDefinition =
  | readonly Duration[]
  | { readonly fixed: Duration }
  /** base, 2 × base, 4 × base … up to cap, each made shorter by up to `jitter` (0 to 1) of itself. */
  | { readonly exponential: Duration; readonly cap?: Duration; readonly jitter?: number }

export interface FetchDefinition {
  /** From dispatch to the last byte. Default 30 s. */
  readonly timeout?: Duration
  /** Default 10 s. */
  readonly connectTimeout?: Duration
  /** Default 20 s. */
  readonly headersTimeout?: Duration
  /** Between two pieces of the body. Default 15 s. */
  readonly idleTimeout?: Duration
  /** Default 16 KB. */
  readonly maxHeaderBytes?: Size
  /** After decoding. Default 10 MB. */
  readonly maxBodyBytes?: Size
  /** Default 10. */
  readonly maxRedirects?: number
}

/** What a route needs of a proxy. */
export interface ProxyDefinition {
  readonly pool: string
  /** Two letters: only proxies of this country. */
  readonly country?: string
}

export interface SpiderProxyDefinition extends ProxyDefinition {
  /** `cheapest` (default): by the measured cost of a good page on that site. `rotate`: in turn. `weighted`: by the weights of the pool. */
  readonly choose?: 'cheapest' | 'rotate' | 'weighted'
  /** For a host as a whole, over all proxies. Default: the number of proxies times `pace`. */
  readonly ceiling?: PaceDefinition
  /** True for an answer by which a site refuses the proxy, beside those that are known: 403, 429, captchas. */
  readonly banned?: (answer: BanCheck) => boolean
}

export interface BanCheck {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The beginning of the page. */
  readonly text: string
}

export interface SessionDefinition {
  /** Keep cookies. Default true. */
  readonly cookies?: boolean
  /** A session ends after so many requests. Default: as the pool of its proxy says; without proxies, never. */
  readonly requests?: number
  /** Or after so long. Default: likewise. */
  readonly time?: Duration
  /** One of them for each session, in place of `userAgent`. */
  readonly userAgents?: readonly string[]
  /** Runs once for each session, before its first page. What it throws costs the page an attempt, and ends the session. */
  readonly login?: (login: Login) => Promise<void> | void
}

/** What the login of a session works with. Its requests keep to the pace of their hosts, and go through the proxy of the session. */
export interface Login {
  /** Redirects are followed; cookies are kept on the way. */
  fetch(url: string, request?: RequestExtras): Promise<LoginAnswer>
}

export interface LoginAnswer {
  /** After redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as UTF-8. */
  readonly text: string
}

export interface LeaseDefinition {
  /** A worker that gives no sign of life for this long loses its links to others. Default 30 s. */
  readonly visibility?: Duration
  /** Default 10 s. */
  readonly heartbeat?: Duration
}

export interface BudgetDefinition {
  readonly pages?: number
  readonly pagesPerHost?: number
  readonly bytes?: Size
  readonly time?: Duration
}

/** Kind → schema (zod, valibot or any other Standard Schema), or the schema with its freshness window. */
export type RecordDefinitions = Readonly<Record<string, RecordDefinition>>
export type RecordDefinition =
  | StandardSchemaV1
  | {
      /** Without a schema anything that is JSON is stored. */
      readonly schema?: StandardSchemaV1
      /** A record younger than this is not written again. Default 1 h; 0 writes always. */
      readonly fresh?: Duration
      /** Keep every version that is replaced by another one. Default false. */
      readonly history?: boolean
      /** Records of several pages or sites that describe one thing, read as one. */
      readonly merge?: MergeDefinition
    }

export interface MergeDefinition {
  /** What the record describes: a field, several together, or a function of the stored data. A record for which it is empty is one by itself. */
  readonly identity: string | readonly string[] | IdentityFunction
  /** 'ACME' and 'Acme' are the same. Default false. */
  readonly ignoreCase?: boolean
  /** Field → which record gives it, where several have it. */
  readonly prefer?: Readonly<Record<string, MergePreference>>
  /** For the other fields. Default 'newest'. */
  readonly default?: MergePreference
}

/** Its parameter needs a type, `(data: { gtin: string }) => data.gtin`: the kinds of a spider are known only when all of them are read. */
export type IdentityFunction = {
  // A method, so that the parameter may be told more exactly than this.
  identity(data: Readonly<Record<string, Json>>): string | number | null | undefined
}['identity']

/**
 * The record that a page showed last; the longest text, or the list with most items; or the first of these sites that has it. What it
 * leaves open, the newest decides.
 */
export type MergePreference = 'newest' | 'longest' | { readonly sites: readonly string[] }

export interface RouteDefinition<LinkData, Data, Kinds extends RecordDefinitions> {
  /** Routes are tried in the order in which they are written. A route without `match` is reached by name only. */
  readonly match?: Patterns
  /** −100 … 100, higher first. Default 0. */
  readonly priority?: number
  readonly retries?: RetriesDefinition
  /** Limits of this route beside those of the host. */
  readonly pace?: PaceDefinition
  /** The data a link of this route carries; page.data has been checked against it. It is not transformed: data travels as JSON. */
  readonly data?: StandardSchemaV1<LinkData, unknown>
  readonly follow?: readonly FollowDefinition<keyof Data & string>[]
  /**
   * The page is one of a list: queue the others, all of them where it tells how many there are, else the one that follows. `true` is all
   * defaults.
   */
  readonly pages?: true | PagesDefinition<keyof Data & string>
  readonly record?: RecordRule<Kinds>
  /**
   * Pages of this route are rendered in a browser: always (`true`), or when the page as the server sends it lacks what is wanted (`'fallback'`).
   * Needs Chromium and the package playwright-core.
   */
  readonly render?: boolean | 'fallback' | RenderDefinition<LinkData>
  /** Runs after `follow` and `record`. */
  handler?(page: Page<LinkData>, out: Out<Data, Kinds>): void | Promise<void>
  readonly handlerTimeout?: Duration
  /** Another pool than the spider's, or none (false). */
  readonly proxy?: string | ProxyDefinition | false
}

interface RenderDefinition<LinkData = unknown> {
  /** Default 'always'. */
  readonly when?: 'always' | 'fallback'
  /** When the page counts as ready: a CSS selector that must appear, or a time to wait. Default: until nothing was loaded for 500 ms. */
  readonly wait?: string
  /** How long a selector or a quiet network is waited for. Default 10 s. */
  readonly settle?: Duration
  /** Load images, fonts and media as well. Default false. */
  readonly images?: boolean
  /** For `fallback`: whether this page, as the server sends it, must be rendered, whatever else is found in it. */
  readonly needed?: (page: Page<LinkData>) => boolean
}

export interface FollowDefinition<RouteName extends string = string> {
  /** CSS selector of elements with an href; `img@src` takes another attribute. */
  readonly links: string
  /** Where the links go; without it the first route that matches. */
  readonly route?: RouteName
  readonly allow?: Patterns
  readonly deny?: Patterns
  /** Instead of the route's own. */
  readonly priority?: number
  /** Take links marked rel="nofollow" too, and those of pages that ask robots not to follow. Default false. */
  readonly nofollow?: boolean
}

export interface PagesDefinition<RouteName extends string = string> {
  /** Pages of one list at most. Default 1000. */
  readonly max?: number
  /** Where they go. Default: the route of this page. */
  readonly route?: RouteName
}

/** One record a page, made of its fields. `key` names the field that identifies it; without it the page's URL does. */
export type RecordRule<Kinds extends RecordDefinitions> = {
  readonly [Kind in keyof Kinds & string]: {
    readonly kind: Kind
    readonly key?: keyof InputOf<Kinds[Kind]> & string
    readonly fields: { readonly [Field in keyof InputOf<Kinds[Kind]>]?: FieldDefinition }
  }
}[keyof Kinds & string]

/** What a record looks like before its schema has checked it. */
export type InputOf<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Definition>
  : Definition extends { readonly schema: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferInput<Schema>
    : Readonly<Record<string, Json>>

export interface Out<Data, Kinds extends RecordDefinitions> {
  /** Stores a record, once per (spider, site, kind, key): the next one with the same key replaces it. */
  record<Kind extends keyof Kinds & string>(kind: Kind, key: string | number, data: InputOf<Kinds[Kind]>): void
  /** Queues a link. It is resolved against the page, judged by the scope and dropped when it is known. */
  follow(href: string, options?: FollowOptions<Data>): void
}

interface FollowBasics extends RequestExtras {
  readonly priority?: number
  /** Takes the place of the URL when links are compared. */
  readonly dedupeKey?: string
  /** Not before this long from now. */
  readonly delay?: Duration
  /** One of `pace.groups`, whatever its pattern says. */
  readonly group?: string
}

export type FollowOptions<Data> =
  | (FollowBasics & { readonly route?: undefined; readonly data?: Json })
  | { [Route in keyof Data]: FollowBasics & { readonly route: Route } & DataOption<Data[Route]> }[keyof Data]

type DataOption<LinkData> = unknown extends LinkData
  ? { readonly data?: Json }
  : undefined extends LinkData
    ? { readonly data?: LinkData }
    : { readonly data: LinkData }

export type Step<Kinds extends RecordDefinitions = RecordDefinitions> = (
  record: StepRecord<Kinds>,
  page: Page,
) => StepRecord<Kinds> | null | Promise<StepRecord<Kinds> | null>

export type StepRecord<Kinds extends RecordDefinitions> = {
  readonly [Kind in keyof Kinds & string]: {
    readonly kind: Kind
    readonly key: string
    readonly data: InputOf<Kinds[Kind]>
  }
}[keyof Kinds & string]

/** Marks what defineSpider made: a plain key, because the spider file may have loaded another copy of this package. */
export const SPIDER_TAG = '~shoal'

export interface TaggedDefinition<
  Kinds extends RecordDefinitions = RecordDefinitions,
  Data = Readonly<Record<string, unknown>>,
> {
  readonly [SPIDER_TAG]: 'spider'
  readonly definition: SpiderDefinition
  /** Never there: for the compiler alone, which needs the kinds and the routes where a program uses the spider. */
  readonly types?: { readonly kinds: Kinds; readonly data: Data }
}

export function defineSpider<
  const Kinds extends RecordDefinitions = Record<never, never>,
  const Data = Record<never, never>,
>(definition: SpiderDefinition<Kinds, Data>): TaggedDefinition<Kinds, Data> {
  return { [SPIDER_TAG]: 'spider', definition: definition as unknown as SpiderDefinition }
}
