import type { StandardSchemaV1 } from '@standard-schema/spec'
import { z } from 'zod'
import { aFunction, atLeastOne, count, country, duration, options, poolName, rate, size } from '../options.js'
import { PRIORITY_MAX, PRIORITY_MIN } from '../url/link.js'
import type {
  IdentityFunction,
  RedisOutletDefinition,
  SessionDefinition,
  SpiderProxyDefinition,
  Step,
} from './definition.js'
import { isPath } from './each.js'
import type { FieldDefinition } from './fields.js'
import type { Page } from './page.js'
import type { UserHandler } from './run-handler.js'
import { seedFunction, seedSources } from './seed-source-schema.js'

/** The definition as a schema, with every default. What each option means is documented in definition.ts, for the user's editor. */

const YEARS_10_MS = 3_650 * 86_400_000

const priority = z.number().min(PRIORITY_MIN).max(PRIORITY_MAX)

const pattern = z.union([z.string().min(1), z.instanceof(RegExp)], {
  error: 'expected a pattern: a string or a regular expression',
})
const patterns = z.preprocess(
  (value) => (value === undefined || Array.isArray(value) ? value : [value]),
  z.array(pattern).default([]),
)

const isSchema = (value: unknown): value is StandardSchemaV1 =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as Partial<StandardSchemaV1>)['~standard']?.validate === 'function'
const standardSchema = z.custom<StandardSchemaV1>(
  isSchema,
  'expected a schema (zod, valibot or another Standard Schema)',
)

const paceLimits = {
  delay: duration().optional(),
  rate: rate.optional(),
  burst: atLeastOne.optional(),
  concurrency: atLeastOne.optional(),
}
const pace = options(paceLimits)
const spiderPace = options({
  ...paceLimits,
  per: z.enum(['host', 'domain']).default('host'),
  adaptive: z
    .union([z.boolean(), options({ target: z.number().positive().optional(), maxDelay: duration().optional() })])
    .default(true),
  groups: z.array(options({ ...paceLimits, name: z.string(), match: patterns })).default([]),
})

const dedupe = options({
  mode: z.enum(['exact', 'bloom', 'set']).default('exact'),
  scope: z.enum(['crawl', 'spider', 'site']).default('crawl'),
  ttl: duration({ min: 1_000, max: YEARS_10_MS }).optional(),
  errorRate: z.number().min(0.000_001).max(0.1).optional(),
})

const backoff = z.union(
  [
    z.array(duration()).min(1),
    options({ fixed: duration() }),
    options({
      exponential: duration({ min: 1 }),
      cap: duration().default(300_000),
      jitter: z.number().min(0).max(1).default(0.5),
    }),
  ],
  { error: 'expected a list of durations, { fixed } or { exponential, cap, jitter }' },
)
const retries = options({ max: count.optional(), backoff: backoff.optional() })

const traps = options({
  maxSegments: count.default(30),
  maxRepeat: atLeastOne.default(2),
  maxParams: count.default(20),
  sessionIds: z.union([z.boolean(), z.literal('likely')], { error: "expected true, false or 'likely'" }).default(true),
  calendars: z.boolean().default(true),
})

const scope = options({
  hosts: z.array(z.string().min(1)).optional(),
  subdomains: z.boolean().default(false),
  allow: patterns,
  deny: patterns,
  maxDepth: count.default(50),
  maxUrlLength: atLeastOne.default(2048),
  maxLinksPerPage: count.default(50_000),
  traps: z.union([z.literal(false), traps]).prefault({}),
  canonical: options({
    dropParams: z.array(z.string().min(1)).default([]),
    sortParams: z.boolean().default(true),
    trailingSlash: z.enum(['keep', 'strip']).default('keep'),
    rewrite: aFunction<(url: URL) => void>().optional(),
  }).prefault({}),
})

const field = z.custom<FieldDefinition>(
  (value) => typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  'expected a selector or a field like { select, as }',
)

const preference = z.union(
  [z.enum(['newest', 'longest']), options({ sites: z.array(z.string().min(1)).min(1, 'needs at least one site') })],
  { error: "expected 'newest', 'longest' or { sites: [...] }" },
)

const merge = options({
  identity: z.union(
    [z.string().min(1), z.array(z.string().min(1)).min(1, 'needs at least one field'), aFunction<IdentityFunction>()],
    { error: 'expected a field, a list of fields or a function' },
  ),
  ignoreCase: z.boolean().default(false),
  prefer: z.record(z.string(), preference).default({}),
  default: preference.default('newest'),
})

const named = (value: unknown) => (typeof value === 'string' ? { pool: value } : value)
const routeProxy = z.preprocess(
  named,
  z.union([z.literal(false), options({ pool: poolName, country: country.optional() })]),
)
const spiderProxy = z.preprocess(
  named,
  options({
    pool: poolName,
    country: country.optional(),
    choose: z.enum(['cheapest', 'rotate', 'weighted']).default('cheapest'),
    ceiling: pace.optional(),
    banned: aFunction<NonNullable<SpiderProxyDefinition['banned']>>().optional(),
  }),
)

const render = options({
  when: z.enum(['always', 'fallback']).default('always'),
  // No selector starts with a digit.
  wait: z.union([z.string().regex(/^\D/, 'expected a selector or a duration'), duration({ max: 600_000 })]).optional(),
  settle: duration({ min: 1, max: 600_000 }).default(10_000),
  images: z.boolean().default(false),
  needed: aFunction<(page: Page) => boolean>().optional(),
})

/** What a rule is called elsewhere: Scrapy's LinkExtractor and callback, Crawlee's label. */
const FOLLOW_SYNONYMS = { select: 'links', selector: 'links', css: 'links', callback: 'route', label: 'route' } as const
const ROUTE_SYNONYMS = {
  url: 'match',
  urls: 'match',
  path: 'match',
  callback: 'handler',
  fields: 'record',
  links: 'follow',
} as const

const route = options(
  {
    match: patterns,
    priority: priority.default(0),
    retries: retries.optional(),
    pace: pace.optional(),
    data: standardSchema.optional(),
    follow: z
      .array(
        options(
          {
            links: z.string().min(1),
            route: z.string().optional(),
            allow: patterns,
            deny: patterns,
            priority: priority.optional(),
            nofollow: z.boolean().default(false),
          },
          FOLLOW_SYNONYMS,
        ),
      )
      .default([]),
    pages: z.preprocess(
      (value) => (value === true ? {} : value),
      options({ max: atLeastOne.max(100_000).default(1_000), route: z.string().optional() }).optional(),
    ),
    record: options({
      kind: z.string(),
      each: z.string().min(1).optional(),
      key: z.string().optional(),
      fields: z.record(z.string(), field).optional(),
      contents: z.enum(['text', 'markdown']).optional(),
    })
      .refine(
        ({ fields, contents, each = '' }) => contents !== undefined || fields !== undefined || isPath(each),
        'needs fields, or contents',
      )
      .refine(
        ({ each, contents }) => each === undefined || contents === undefined,
        'contents are those of a whole page: remove each',
      )
      .optional(),
    render: z.preprocess(
      (value) => (value === true ? {} : value === false ? undefined : value === 'fallback' ? { when: value } : value),
      render.optional(),
    ),
    handler: aFunction<UserHandler>().optional(),
    handlerTimeout: duration({ min: 1 }).optional(),
    proxy: routeProxy.optional(),
  },
  ROUTE_SYNONYMS,
)

const schedule = options({
  cron: z.string(),
  timezone: z.string().default('UTC'),
  overlap: z.enum(['skip', 'queue']).default('skip'),
})

const feed = options({
  redisKey: z.string().min(1).max(1024).optional(),
  stream: z.boolean().default(false),
  group: z.string().min(1).max(128).default('shoal'),
  idleTimeout: duration({ min: 1 }).optional(),
})

const envName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected the name of an environment variable')
  .refine((name) => !name.startsWith('SHOAL_'), 'names that start with SHOAL_ are reserved')

const outlet = options({
  redis: z.enum(['list', 'stream', 'hash']).optional(),
  webhook: z
    .url({ protocol: /^https?$/, error: 'expected an absolute http or https URL' })
    .refine(
      (url) => !/^https?:\/\/[^/?#]*@/i.test(url),
      'a user name or password in it would not be sent: sign with secretEnv',
    )
    .optional(),
  name: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/, 'expected letters, digits, dots, dashes and underscores, at most 64')
    .optional(),
  kinds: z.array(z.string()).min(1).optional(),
  batch: atLeastOne.max(1_000).default(100),
  key: z.string().min(1).max(1024).optional(),
  address: z
    .string()
    .regex(/^rediss?(\+(cluster|sentinel))?:\/\//, "expected 'redis://host:port'")
    .optional(),
  maxLength: atLeastOne.optional(),
  serialize: aFunction<NonNullable<RedisOutletDefinition['serialize']>>().optional(),
  field: aFunction<NonNullable<RedisOutletDefinition['field']>>().optional(),
  secretEnv: envName.optional(),
  timeout: duration({ min: 100, max: 600_000 }).optional(),
})

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'not a valid header name')
const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'a header must be one line of Latin-1')

export const definitionSchema = options({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'expected letters, digits, dots, dashes and underscores, at most 64'),
  start: z.array(z.string()).default([]),
  seeds: z
    .union([seedFunction, seedSources], { error: 'expected a function, or a list of sources like sitemap()' })
    .optional(),
  feed: z.preprocess((value) => (value === true ? {} : value), feed.optional()),
  scope: scope.prefault({}),
  pace: spiderPace.prefault({}),
  dedupe: dedupe.prefault({}),
  order: z.enum(['priority', 'fifo', 'lifo']).default('priority'),
  depthPriority: z.number().min(-100).max(100).default(0),
  records: z
    .record(
      z.string(),
      z.preprocess(
        (value) => (isSchema(value) ? { schema: value } : value),
        options({
          schema: standardSchema.optional(),
          fresh: duration({ max: YEARS_10_MS }).default(3_600_000),
          history: z.boolean().default(false),
          merge: merge.optional(),
        }),
      ),
    )
    .default({}),
  routes: z
    .record(z.string(), route)
    .refine((routes) => Object.keys(routes).length > 0, 'a spider needs at least one route'),
  steps: z.array(aFunction<Step>()).default([]),
  retries: retries.prefault({}),
  maxThrottles: count.default(10),
  retryPriorityStep: count.default(10),
  robots: z.union([z.boolean(), z.literal('strict')], { error: "expected true, false or 'strict'" }).default(true),
  userAgent: headerValue.min(1).optional(),
  contact: headerValue.min(1).optional(),
  headers: z.record(headerName, headerValue).default({}),
  secrets: z
    .record(
      z.string(),
      options({
        env: envName,
        origins: z.array(z.string()).min(1, 'needs at least one origin that it may be sent to'),
      }),
    )
    .default({}),
  allowPrivate: z
    .array(
      z
        .string()
        .regex(/^(\[[0-9a-fA-F:.]+\]|[^\s:/]+):(\d{1,5}|\*)$/, "expected 'host:port', or 'host:*' for any port"),
    )
    .default([]),
  fetch: options({
    timeout: duration({ min: 1 }).default(30_000),
    connectTimeout: duration({ min: 1 }).default(10_000),
    headersTimeout: duration({ min: 1 }).default(20_000),
    idleTimeout: duration({ min: 1 }).default(15_000),
    maxHeaderBytes: size.default(16 * 1024),
    maxBodyBytes: size.default(10 * 1024 * 1024),
    maxRedirects: count.default(10),
  }).prefault({}),
  proxy: spiderProxy.optional(),
  session: options({
    cookies: z.boolean().default(true),
    requests: atLeastOne.optional(),
    time: duration({ min: 1 }).optional(),
    userAgents: z.array(headerValue.min(1)).min(1).optional(),
    login: aFunction<NonNullable<SessionDefinition['login']>>().optional(),
  }).optional(),
  lease: options({
    visibility: duration({ min: 1_000 }).default(30_000),
    heartbeat: duration({ min: 100 }).default(10_000),
  })
    .prefault({})
    .refine(
      (lease) => lease.heartbeat * 2 <= lease.visibility,
      'heartbeat must be at most half of visibility, or one late beat loses every link',
    ),
  handlerTimeout: duration({ min: 1 }).default(60_000),
  maxPending: atLeastOne.default(1_000_000),
  overflow: z.enum(['refuse', 'keep']).default('refuse'),
  budget: options({
    pages: atLeastOne.optional(),
    pagesPerHost: atLeastOne.default(100_000),
    bytes: size.optional(),
    time: duration({ min: 1, max: YEARS_10_MS }).optional(),
  }).prefault({}),
  schedule: z.preprocess((value) => (typeof value === 'string' ? { cron: value } : value), schedule.optional()),
  recrawl: z.boolean().default(false),
  savePages: z.boolean().default(false),
  outlets: z.array(outlet).default([]),
})

export type CheckedDefinition = z.output<typeof definitionSchema>
export type CheckedMerge = z.output<typeof merge>
export type CheckedRoute = z.output<typeof route>
export type CheckedPace = z.output<typeof pace>
export type CheckedAdaptive = z.output<typeof spiderPace>['adaptive']
export type CheckedOutlet = z.output<typeof outlet>
export type CheckedRetries = z.output<typeof retries>
