import { z } from 'zod'
import { atLeastOne, country, duration, options, poolName } from '../options.js'
import type { Rotation } from './pool.js'
import type { RestRules } from './proxy-ledger.js'

/** The contents of a pool file. Secrets are named, not written: `passwordEnv`, `passwordFile`, `keyEnv`, `keyFile`. */

export const DEFAULT_POOL = 'default'

const MINUTE = 60_000
const HOUR = 3_600_000

/** How proxies of a kind rest and how long a session lasts, unless the pool says otherwise. Kinds of the user's own are like datacenter. */
export const KINDS: Readonly<Record<string, { readonly rest: RestRules; readonly rotation: Rotation }>> = {
  datacenter: {
    rest: { strikes: 2, baseMs: 10 * MINUTE, capMs: 2 * HOUR },
    rotation: { requests: 50, timeMs: 10 * MINUTE },
  },
  residential: {
    rest: { strikes: 2, baseMs: 30 * MINUTE, capMs: 6 * HOUR },
    rotation: { requests: 500, timeMs: 30 * MINUTE },
  },
  mobile: {
    rest: { strikes: 2, baseMs: 20 * MINUTE, capMs: 4 * HOUR },
    rotation: { requests: 300, timeMs: 20 * MINUTE },
  },
}

const cost = options({ perRequest: z.number().min(0).default(0), perGb: z.number().min(0).default(0) })
const envName = z.string().regex(/^[A-Za-z_]\w*$/, 'expected the name of an environment variable')
const file = z.string().min(1)

const entry = z.preprocess(
  (value) => (typeof value === 'string' ? { url: value } : value),
  options({
    url: z.string(),
    name: poolName.optional(),
    weight: z.number().positive().max(1_000_000).default(1),
    country: country.optional(),
    cost: cost.optional(),
  }),
)

const common = {
  kind: poolName.optional(),
  country: country.optional(),
  cost: cost.prefault({}),
  rest: options({
    first: duration({ min: 1 }).optional(),
    longest: duration({ min: 1 }).optional(),
    strikes: atLeastOne.max(1_000).optional(),
  }).prefault({}),
  rotation: options({ requests: atLeastOne.optional(), time: duration({ min: 1 }).optional() }).prefault({}),
}

const password = { passwordEnv: envName.optional(), passwordFile: file.optional() }

/** Many countries and sessions of one address: each of them is a proxy. */
const service = {
  url: z.string(),
  countries: z.array(country).min(1).optional(),
  sessions: atLeastOne.max(10_000),
}

const list = options({
  ...common,
  ...password,
  /** URLs, or where to find a list of them: `file:<path>`, `env:<name>`. */
  entries: z.union([z.array(entry).min(1), z.string().regex(/^(file|env):./, "expected a list, 'file:…' or 'env:…'")]),
})
const gateway = options({
  ...common,
  ...password,
  ...service,
  service: z.literal('gateway'),
  sessions: service.sessions.default(10),
})
const wrap = options({
  ...common,
  ...service,
  service: z.literal('wrap'),
  sessions: service.sessions.default(1),
  keyEnv: envName.optional(),
  keyFile: file.optional(),
})

export type ListPool = z.output<typeof list>
export type GatewayPool = z.output<typeof gateway>
export type WrapPool = z.output<typeof wrap>
export type WrittenPool = ListPool | GatewayPool | WrapPool

/** By the pool's `service`, so that a mistake is reported for the kind that was meant; without `service` it is a list. */
export const POOL_SCHEMAS = { list, gateway, wrap } as const
