import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { StoredRecord } from '../store/record-store.js'
import type { Duration, Rate, Size } from '../units.js'
import type { Json, RequestExtras } from '../url/link.js'
import type { FieldDefinition } from './fields.js'
import type { Page } from './page.js'
import type { SeedFunction, SeedSourceDefinition } from './seed-sources.js'

/**
 * What a user writes. Route names, record kinds, fields and link data are type-checked, all inferred from this one object: `Kinds` from `records`,
 * `Data` (route name → type of its links' data) from the routes.
 */
export interface SpiderDefinition<
  Kinds extends RecordDefinitions = RecordDefinitions,
  Data = Readonly<Record<string, unknown>>,
> {
  /** Letters, digits, dot, dash and underscore. Records belong to this name. */
  readonly name: string
  /** Where a crawl starts: absolute URLs, each in scope. Optional for a spider with `seeds` or `feed`. */
  readonly start?: readonly string[]
  /**
   * Many start URLs: sources such as `sitemap()`, `csv()` or `range()`, or a function that yields them one by one, always in the same order. A crawl
   * that was killed halfway resumes where it was. URLs that are out of scope are left out and logged.
   */
  readonly seeds?: SeedFunction | readonly SeedSourceDefinition[]
  /** Other programs push URLs: a crawl stays open for them instead of ending with its last page. */
  readonly feed?: true | FeedDefinition
  readonly scope?: ScopeDefinition
  /** Per host, across all workers and crawls; or as `pace.per` and `pace.groups` say. */
  readonly pace?: SpiderPaceDefinition
  /** `priority` (default): higher numbers first. */
  readonly order?: 'priority' | 'fifo' | 'lifo'
  /** Added to the priority per click from the start: negative is breadth-first, positive depth-first. Default 0. */
  readonly depthPriority?: number
  readonly records?: Kinds
  readonly routes: { readonly [Name in keyof Data]: RouteDefinition<Data[Name], NoInfer<Data>, NoInfer<Kinds>> }
  /** Run in order on every record before it is validated and stored; null drops the record. */
  readonly steps?: readonly Step<NoInfer<Kinds>>[]
  /** For routes without their own. Default: 3 more fetches, exponential from 1 s to 5 min with jitter. */
  readonly retries?: RetriesDefinition
  /** How often a host may ask for time (429, 503) on one link before the link is dead. Default 10. */
  readonly maxThrottles?: number
  /** A retry has this much less priority. Default 10. */
  readonly retryPriorityStep?: number
  /**
   * Respect robots.txt. Default true; false is for sites you own. `strict`: if access to it is denied (401, 403), nothing is allowed; by the
   * standard, everything would be.
   */
  readonly robots?: boolean | 'strict'
  readonly userAgent?: string
  /** Part of the default user agent, so that a site's owner can contact you: a URL or an email address. */
  readonly contact?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Keys and passwords that headers and bodies refer to with `secret('name')`. Values are never stored: a worker inserts them when it sends a request. */
  readonly secrets?: Readonly<Record<string, SecretDefinition>>
  /** Private and loopback addresses that may be fetched, and used by webhooks: 'host:port', or 'host:*' for any port. */
  readonly allowPrivate?: readonly string[]
  readonly fetch?: FetchDefinition
  /** The proxy pool to use. `pace` is then the pace of each proxy on a host. Default: none. */
  readonly proxy?: string | SpiderProxyDefinition
  /** Visitors as a site sees them: cookies, user agent and proxy stay together. Default: no cookies are kept. */
  readonly session?: SessionDefinition
  readonly lease?: LeaseDefinition
  /** How long a handler may run. Default 60 s. */
  readonly handlerTimeout?: Duration
  /** What counts as seen. Default: exactly, by this crawl, forever. */
  readonly dedupe?: DedupeDefinition
  /** Maximum number of waiting links. Default 1,000,000. */
  readonly maxPending?: number
  /** What happens to links over maxPending: refused and counted (default), or kept anyway. */
  readonly overflow?: 'refuse' | 'keep'
  readonly budget?: BudgetDefinition
  /**
   * A new crawl handles only what changed since the last one: pages are requested with If-None-Match and If-Modified-Since, and an unchanged page is
   * not handled again. Its records are confirmed, its links followed. Default false.
   */
  readonly recrawl?: boolean
  /**
   * When new crawls start automatically, as a cron expression ('0 3 * * *'; with six fields the first is seconds), for `shoal schedule run` and
   * `shoal worker --schedule`.
   */
  readonly schedule?: string | ScheduleDefinition
  /** Store raw pages. Default false. */
  readonly savePages?: boolean
  /** Where records are delivered as they are written, in addition to the store: Redis, webhooks. */
  readonly outlets?: readonly OutletDefinition[]
}

export interface SecretDefinition {
  /** The environment variable that holds the value, in every process that runs workers for the spider. */
  readonly env: string
  /** Where it may be sent, and nowhere else: 'https://api.example'. */
  readonly origins: readonly string[]
}

export interface ScheduleDefinition {
  readonly cron: string
  /** For example 'Europe/Berlin'. Default 'UTC'. */
  readonly timezone?: string
  /** A turn while the last crawl is unfinished: skipped (default), or started when that crawl has finished. At most one waits. */
  readonly overlap?: 'skip' | 'queue'
}

export interface FeedDefinition {
  /** The Redis list or stream. Default `shoal:feed:<name>`. */
  readonly redisKey?: string
  /** It is a stream, read by a consumer group; otherwise a list. Default false. */
  readonly stream?: boolean
  /** The consumer group of a stream. Default 'shoal'. */
  readonly group?: string
  /** A crawl ends when its queue and its feed have been empty for this long. Without it, a crawl with a feed never ends automatically. */
  readonly idleTimeout?: Duration
}

export type OutletDefinition = RedisOutletDefinition | WebhookOutletDefinition

export interface OutletBasics {
  /** The name of the outlet after that of the spider. Default `list`, `stream`, `hash` or `webhook`. */
  readonly name?: string
  /** Records of these kinds only. Default: all. */
  readonly kinds?: readonly string[]
  /** Records per batch. Default 100. */
  readonly batch?: number
}

export interface RedisOutletDefinition extends OutletBasics {
  /** `list`: pushed on the right, read from the left. `stream`: the field `record` of an entry. `hash`: one field per URL. */
  readonly redis: 'list' | 'stream' | 'hash'
  /** Default `shoal:<spider>:items`, for a stream `shoal:<spider>:stream`, for a hash `shoal:<spider>:records`. */
  readonly key?: string
  /** Default: the server of the queue. */
  readonly address?: string
  /** The oldest items over this number are dropped and counted. Default 100,000; for a hash: no limit. */
  readonly maxLength?: number
  /** What is written for a record. Default: the record as JSON. */
  readonly serialize?: (record: StoredRecord) => string | Uint8Array
  /** The field of a hash. Default: the URL; of several records of a page the last one wins. */
  readonly field?: (record: StoredRecord) => string
}

export interface WebhookOutletDefinition extends OutletBasics {
  /** The URL that batches are posted to. */
  readonly webhook: string
  /** The environment variable with the secret that signs batches. Without it they are not signed. */
  readonly secretEnv?: string
  /** Per request. Default 30 s. */
  readonly timeout?: Duration
}

export interface ScopeDefinition {
  /**
   * 'example.com', 'example.com:8080', '*.example.com' (its subdomains only) or '*' (any). Default: the hosts of `start`; required for a spider
   * without start URLs.
   */
  readonly hosts?: readonly string[]
  /** Also the subdomains of each host. Default false. */
  readonly subdomains?: boolean
  /** Only URLs that match one of these. */
  readonly allow?: Patterns
  /** Never URLs that match one of these. */
  readonly deny?: Patterns
  /** Maximum number of clicks from a start URL. Default 50. */
  readonly maxDepth?: number
  /** Default 2048. */
  readonly maxUrlLength?: number
  /** Further links of a page are dropped, and named in the summary. Default 50,000. */
  readonly maxLinksPerPage?: number
  /** Guards against endless sites; false turns all of them off. */
  readonly traps?: TrapsDefinition | false
  readonly canonical?: CanonicalDefinition
}

/**
 * A string is a pattern of the path (`/catalogue/*`) or of the whole URL (`https://example.com/*`) and takes linear time. A regular expression is
 * tested against the whole URL, for every link: one that backtracks, like `(a+)+$`, can block a worker.
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
  /**
   * Removes session ids from URLs, and refuses URLs with one in the path. True: those with a name that nothing else has, like PHPSESSID; 'likely': also
   * what merely looks like one, like `sid` with 26 letters and digits. Default true.
   */
  readonly sessionIds?: boolean | 'likely'
  /** Default true. */
  readonly calendars?: boolean
}

export interface CanonicalDefinition {
  /** Query parameters to drop in addition to the known tracking parameters; a trailing * matches the rest of the name. */
  readonly dropParams?: readonly string[]
  /** Default true. */
  readonly sortParams?: boolean
  /** Default 'keep'. */
  readonly trailingSlash?: 'keep' | 'strip'
  /** Changes the URL in place; must be idempotent. */
  readonly rewrite?: (url: URL) => void
}

export interface PaceDefinition {
  /** Between the starts of two requests. Default 1 s. */
  readonly delay?: Duration
  readonly rate?: Rate
  /** Requests that a rate allows at once after an idle time. Default 1. */
  readonly burst?: number
  /** Requests at once. Default 4. */
  readonly concurrency?: number
}

export interface SpiderPaceDefinition extends PaceDefinition {
  /**
   * `host` (default): each separately, with its port. `domain`: all hosts of a registrable domain together, `shop.example.co.uk` and `example.co.uk`.
   */
  readonly per?: 'host' | 'domain'
  /**
   * A host that responds slowly or with errors gets fewer requests from all workers, and the normal rate again once it has recovered. Default true:
   * about `concurrency` requests in flight, up to ten times the delay. It has no effect without a delay.
   */
  readonly adaptive?: boolean | AdaptiveDefinition
  /** URLs with a common pace, whatever their hosts: the first group that matches. */
  readonly groups?: readonly PaceGroupDefinition[]
}

/** The delay is the host's mean response time ÷ `target`, between `delay` and `maxDelay`. */
export interface AdaptiveDefinition {
  /** Requests that the host should have in flight on average. Default: `concurrency`. */
  readonly target?: number
  /** Default: ten times the delay. */
  readonly maxDelay?: Duration
}

/** Limits left out are those of the spider. */
export interface PaceGroupDefinition extends PaceDefinition {
  /** Spiders that share the queue and use the same group name share its pace: an API key, an account, a proxy. */
  readonly name: string
  /** Without it, links get this group only by name: `out.follow(url, { group })`. */
  readonly match?: Patterns
}

/** Ways of remembering that only some queues support: others refuse to open the crawl. */
export interface DedupeDefinition {
  /**
   * `exact` (default). `bloom`: a few bits per URL, and a small share of new URLs is wrongly taken for seen. `set`: exact, as a plain set that other
   * programs can read.
   */
  readonly mode?: 'exact' | 'bloom' | 'set'
  /** Seen by whom: this crawl (default), any crawl of this spider, any crawl of the queue. */
  readonly scope?: 'crawl' | 'spider' | 'site'
  /**
   * URLs are forgotten after this time at the earliest, after twice this time at the latest. Must be longer than a link may wait in the queue, or it
   * is visited twice. Default: never.
   */
  readonly ttl?: Duration
  /** The share of errors of `bloom`. Default 0.001. */
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
  /** base, 2 × base, 4 × base … up to cap, each shortened by up to `jitter` (0 to 1) of itself. */
  | { readonly exponential: Duration; readonly cap?: Duration; readonly jitter?: number }

export interface FetchDefinition {
  /** From dispatch to the last byte. Default 30 s. */
  readonly timeout?: Duration
  /** Default 10 s. */
  readonly connectTimeout?: Duration
  /** Default 20 s. */
  readonly headersTimeout?: Duration
  /** Between two chunks of the body. Default 15 s. */
  readonly idleTimeout?: Duration
  /** Default 16 KB. */
  readonly maxHeaderBytes?: Size
  /** After decoding. Default 10 MB. */
  readonly maxBodyBytes?: Size
  /** Default 10. */
  readonly maxRedirects?: number
}

/** Which proxies a route uses. */
export interface ProxyDefinition {
  readonly pool: string
  /** Two letters: only proxies in this country. */
  readonly country?: string
}

export interface SpiderProxyDefinition extends ProxyDefinition {
  /** `cheapest` (default): by the measured cost of a good page on that site. `rotate`: in turn. `weighted`: by the weights of the pool. */
  readonly choose?: 'cheapest' | 'rotate' | 'weighted'
  /** For a host as a whole, across all proxies. Default: the number of proxies times `pace`. */
  readonly ceiling?: PaceDefinition
  /** True for a response that means that the site bans the proxy, in addition to the known ones: 403, 429, captchas. */
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
  /** A session ends after this many requests. Default: as the pool of its proxy says; without proxies, never. */
  readonly requests?: number
  /** Or after this time. Default: the same. */
  readonly time?: Duration
  /** One of them per session, instead of `userAgent`. */
  readonly userAgents?: readonly string[]
  /** Runs once per session, before its first page. If it throws, this costs the page an attempt and ends the session. */
  readonly login?: (login: Login) => Promise<void> | void
}

/** What the login of a session can use. Its requests respect the pace of their hosts, and go through the proxy of the session. */
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
  /** A link that is not renewed for this long is leased to another worker. A dead worker is noticed sooner: `--lost-after`. Default 30 s. */
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
      /** Without a schema any JSON is stored. */
      readonly schema?: StandardSchemaV1
      /** A record younger than this is not overwritten with other content. Default 1 h; 0 always writes. */
      readonly fresh?: Duration
      /** Keep every replaced version. Default false. */
      readonly history?: boolean
      /** Read records of several pages or sites that describe one thing as one. */
      readonly merge?: MergeDefinition
    }

export interface MergeDefinition {
  /** What the record describes: a field, several together, or a function of the stored data. A record for which it is empty is not merged. */
  readonly identity: string | readonly string[] | IdentityFunction
  /** 'ACME' and 'Acme' are the same. Default false. */
  readonly ignoreCase?: boolean
  /** Field → which record provides it, if several have it. */
  readonly prefer?: Readonly<Record<string, MergePreference>>
  /** For all other fields. Default 'newest'. */
  readonly default?: MergePreference
}

/** Its parameter needs a type, `(data: { gtin: string }) => data.gtin`: the kinds of a spider are known only when all of them are read. */
export type IdentityFunction = {
  // A method, so that the type of the parameter may be narrower than this.
  identity(data: Readonly<Record<string, Json>>): string | number | null | undefined
}['identity']

/** The record that was seen last; the longest text, or the list with most items; or the first of these sites that has it. Ties go to the newest. */
export type MergePreference = 'newest' | 'longest' | { readonly sites: readonly string[] }

export interface RouteDefinition<LinkData, Data, Kinds extends RecordDefinitions> {
  /** Routes are tried in order. A route without `match` is used by name only. */
  readonly match?: Patterns
  /** −100 … 100, higher first. Default 0. */
  readonly priority?: number
  readonly retries?: RetriesDefinition
  /** Limits of this route in addition to those of the host. */
  readonly pace?: PaceDefinition
  /** The data of a link of this route; page.data is validated against it, but not transformed, because it is stored as JSON. */
  readonly data?: StandardSchemaV1<LinkData, unknown>
  readonly follow?: readonly FollowDefinition<keyof Data & string>[]
  /**
   * The page is part of a paginated list: queue the other pages, all of them if it says how many there are, otherwise the next one. `true` is all
   * defaults.
   */
  readonly pages?: true | PagesDefinition<keyof Data & string>
  readonly record?: RecordRule<Kinds>
  /**
   * Pages of this route are rendered in a browser: always (`true`), or if the page as the server sends it lacks what is wanted (`'fallback'`). Needs
   * Chromium and the package playwright-core.
   */
  readonly render?: boolean | 'fallback' | RenderDefinition<LinkData>
  /** Runs after `follow` and `record`. */
  handler?(page: Page<LinkData>, out: Out<Data, Kinds>): void | Promise<void>
  readonly handlerTimeout?: Duration
  /** A pool other than the spider's, or none (false). */
  readonly proxy?: string | ProxyDefinition | false
}

export interface RenderDefinition<LinkData = unknown> {
  /** Default 'always'. */
  readonly when?: 'always' | 'fallback'
  /** When the page counts as ready: a CSS selector that must appear, or a time to wait. Default: until nothing was loaded for 500 ms. */
  readonly wait?: string
  /** How long to wait for a selector or a quiet network. Default 10 s. */
  readonly settle?: Duration
  /** Load images, fonts and media as well. Default false. */
  readonly images?: boolean
  /** For `fallback`: whether this page, as the server sends it, must be rendered in any case. */
  readonly needed?: (page: Page<LinkData>) => boolean
}

export interface FollowDefinition<RouteName extends string = string> {
  /** CSS selector of elements with an href; `img@src` takes another attribute. */
  readonly links: string
  /** The route of the links; without it the first route that matches. */
  readonly route?: RouteName
  readonly allow?: Patterns
  readonly deny?: Patterns
  /** Overrides the route's priority. */
  readonly priority?: number
  /** Also follow links marked rel="nofollow", and those of pages that ask robots not to follow. Default false. */
  readonly nofollow?: boolean
}

export interface PagesDefinition<RouteName extends string = string> {
  /** Maximum number of pages per list. Default 1000. */
  readonly max?: number
  /** Their route. Default: the route of this page. */
  readonly route?: RouteName
}

/** Records built from fields: one per page, or one per element or JSON value that `each` finds. */
export type RecordRule<Kinds extends RecordDefinitions> = {
  readonly [Kind in keyof Kinds & string]: {
    readonly kind: Kind
    /**
     * One record per element that this CSS selector matches, with the selectors of the fields relative to it; `:scope` is the element itself. Or, for
     * JSON, one per value of a path (`'$.items[*]'`), with the paths of the fields relative to it; without fields, each value as it is. Default: one
     * record per page.
     */
    readonly each?: string
    /** The field that identifies the record. Default: the page's URL; with `each`, the URL and the position on the page (`https://…#3`). */
    readonly key?: keyof InputOf<Kinds[Kind]> & string
    readonly fields?: { readonly [Field in keyof InputOf<Kinds[Kind]>]?: FieldDefinition }
    /**
     * What is on the page, in addition to the fields. `text`: url, status, title, description, language, text (its first 5,000 characters; `truncated` if there are more) and links.
     * `markdown`: url, status, title, description, language, published, modified, and the main content as Markdown.
     */
    readonly contents?: 'text' | 'markdown'
  }
}[keyof Kinds & string]

/** A record before its schema has validated it. */
export type InputOf<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Definition>
  : Definition extends { readonly schema: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferInput<Schema>
    : Readonly<Record<string, Json>>

/** A record after its schema has validated it. */
export type OutputOf<Definition> = Definition extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Definition>
  : Definition extends { readonly schema: infer Schema extends StandardSchemaV1 }
    ? StandardSchemaV1.InferOutput<Schema>
    : Json

export interface Out<Data, Kinds extends RecordDefinitions> {
  /** Stores a record, once per (spider, site, kind, key): the next one with the same key replaces it. */
  record<Kind extends keyof Kinds & string>(kind: Kind, key: string | number, data: InputOf<Kinds[Kind]>): void
  /** Queues a link. It is resolved against the page, checked against the scope, and dropped if it is known. */
  follow(href: string, options?: FollowOptions<Data>): void
}

export interface FollowBasics extends RequestExtras {
  readonly priority?: number
  /** Used instead of the URL to compare links. */
  readonly dedupeKey?: string
  /** Wait at least this long from now. */
  readonly delay?: Duration
  /** One of `pace.groups`, whatever its pattern says. */
  readonly group?: string
}

export type FollowOptions<Data> =
  | (FollowBasics & { readonly route?: undefined; readonly data?: Json })
  | { [Route in keyof Data]: FollowBasics & { readonly route: Route } & DataOption<Data[Route]> }[keyof Data]

export type DataOption<LinkData> = unknown extends LinkData
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

/** Marks the result of defineSpider: a plain key, because the spider file may have loaded another copy of this package. */
export const SPIDER_TAG = '~shoal'

export interface TaggedDefinition<
  Kinds extends RecordDefinitions = RecordDefinitions,
  Data = Readonly<Record<string, unknown>>,
> {
  readonly [SPIDER_TAG]: 'spider'
  readonly definition: SpiderDefinition
  /** Never present: only for the compiler, which needs the kinds and the routes where a program uses the spider. */
  readonly types?: { readonly kinds: Kinds; readonly data: Data }
}

/** A spider with arguments: its definition is known once they are. */
export interface TaggedBuilder<
  Kinds extends RecordDefinitions = RecordDefinitions,
  Data = Readonly<Record<string, unknown>>,
  Args = unknown,
> {
  readonly [SPIDER_TAG]: 'spider'
  readonly schema: StandardSchemaV1
  readonly build: (args: unknown) => TaggedDefinition
  readonly types?: { readonly kinds: Kinds; readonly data: Data; readonly args: Args }
}

/** A spider as its file exports it. */
export type DefinedSpider = TaggedDefinition | TaggedBuilder

/**
 * Defines a spider; or, with a schema and a function, one that takes arguments: `shoal run shop.ts -a category=shoes`. The function returns a spider
 * and not a plain object, because the compiler cannot infer kinds and routes from an object that a function returns. There is one form per number of
 * arguments: with two forms for one argument, every mistake in a definition would be reported as "No overload matches this call".
 */
export function defineSpider<Schema extends StandardSchemaV1, Kinds extends RecordDefinitions, Data>(
  schema: Schema,
  build: (args: StandardSchemaV1.InferOutput<Schema>) => TaggedDefinition<Kinds, Data>,
): TaggedBuilder<Kinds, Data, StandardSchemaV1.InferInput<Schema>>
export function defineSpider<
  const Kinds extends RecordDefinitions = Record<never, never>,
  const Data = Record<never, never>,
>(definition: SpiderDefinition<Kinds, Data>): TaggedDefinition<Kinds, Data>
export function defineSpider(
  first: unknown,
  build?: (args: unknown) => TaggedDefinition,
): TaggedDefinition | TaggedBuilder {
  if (build !== undefined) return { [SPIDER_TAG]: 'spider', schema: first as StandardSchemaV1, build }
  return { [SPIDER_TAG]: 'spider', definition: first as SpiderDefinition }
}
