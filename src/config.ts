import { z } from 'zod'
import { ShoalError } from './errors.js'
import { atLeastOne, check, country, duration, listenAddress, unknownOption } from './options.js'

/** 'a, b' as a list. */
function words() {
  return z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((word) => word !== ''))
    .nullable()
}

/**
 * Everything that can be set for a process rather than for a spider: key, schema, default, environment name, sentence. A flag wins over
 * the environment, the environment over the default. docs/configuration.md is generated from this table (npm run docs).
 */
export const CONFIG = {
  queue: {
    schema: z.string().min(1),
    default: 'sqlite:.shoal/shoal.db',
    env: 'SHOAL_QUEUE',
    flag: '--queue <address>',
    meaning:
      'Where the frontier lives: `sqlite:<file>`, `redis://…` for a fleet (also `rediss://…`, `redis+cluster://…`, `redis+sentinel://…`), or `memory:` for a crawl that ends with the process.',
  },
  store: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'as the queue',
    env: 'SHOAL_STORE',
    flag: '--store <address>',
    meaning:
      'Where the records live: `sqlite:<file>`, or `postgres://user:password@host/database` for a fleet. Unless given the same place as the queue, or `sqlite:.shoal/shoal.db` when the queue is on a server.',
  },
  pages: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'beside the records',
    env: 'SHOAL_PAGES',
    flag: '--pages <address>',
    meaning:
      'Where raw pages lie, of spiders that keep them: `files:<folder>`, or `s3://bucket/prefix?endpoint=…&region=…`. Unless given the folder `pages` beside the records, or `.shoal/pages` when those are on a server.',
  },
  proxies: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'no proxies',
    env: 'SHOAL_PROXIES',
    also: 'PROXY_LIST',
    flag: '--proxies <file>',
    meaning:
      'Where the pools of proxies stand: a file of pools (JSON), or of one proxy URL a line. The environment may hold the URLs themselves, with commas between.',
  },
  pool: {
    schema: words(),
    default: null,
    unset: 'all',
    env: 'SHOAL_POOL',
    flag: '--pool <names>',
    meaning:
      'Pools of proxies that the workers may use, by name, with commas between. Pages that need others are left to other workers.',
  },
  country: {
    schema: country.nullable(),
    default: null,
    unset: 'any',
    env: 'SHOAL_COUNTRY',
    flag: '--country <code>',
    meaning: 'Only proxies of this country: two letters, such as `de`.',
  },
  browser: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'the first of chromium, chromium-browser, google-chrome',
    env: 'SHOAL_BROWSER',
    flag: '--browser <path>',
    meaning: 'The browser that renders pages, for routes with `render`: a path, or a name in PATH.',
  },
  browserPages: {
    schema: z.coerce.number().int().min(1).max(100),
    default: 4,
    env: 'SHOAL_BROWSER_PAGES',
    flag: '--browser-pages <n>',
    meaning: 'Pages that a worker renders at once.',
  },
  alerts: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'every rule as it is, told to the log',
    env: 'SHOAL_ALERTS',
    flag: '--alerts <file>',
    meaning:
      'Who is told when something is wrong, and when that is: a JSON file of rules, webhooks and commands. Give all processes of a fleet the same one.',
  },
  workers: {
    schema: z.coerce.number().int().min(1).max(1024),
    default: 1,
    env: 'SHOAL_WORKERS',
    flag: '--workers <n>',
    meaning: 'Worker processes. One worker runs inside the command itself.',
  },
  concurrency: {
    schema: z.coerce.number().pipe(atLeastOne.max(10_000)),
    default: 64,
    env: 'SHOAL_CONCURRENCY',
    flag: '--concurrency <n>',
    meaning: "Pages a worker visits at once, over all hosts. A host's own limits stand in the spider.",
  },
  grace: {
    schema: duration(),
    default: '10s',
    env: 'SHOAL_GRACE',
    flag: '--grace <duration>',
    meaning: 'How long Ctrl-C or SIGTERM waits for pages in hand before the rest is handed back.',
  },
  metrics: {
    schema: listenAddress.nullable(),
    default: null,
    unset: 'nobody can ask',
    env: 'SHOAL_METRICS',
    flag: '--metrics <[host:]port>',
    meaning:
      'Where this process answers `/metrics`, `/healthz` and `/readyz`: a port of this machine alone, or `host:port`. Other machines reach it only where SHOAL_TOKEN is set.',
  },
  token: {
    schema: z
      .string()
      .min(16, 'must have at least 16 characters')
      .regex(/^[\x21-\x7e]+$/, 'must have no spaces and no letters beyond ASCII')
      .max(512)
      .nullable(),
    default: null,
    unset: 'one that the dashboard makes and prints',
    env: 'SHOAL_TOKEN',
    flag: null,
    meaning:
      'What `/metrics` and the API want to see as `Authorization: Bearer …`, 16 characters at least. Only in the environment: a command line is shown to every user of the machine.',
  },
  logLevel: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'warn',
    env: 'SHOAL_LOG_LEVEL',
    flag: '--log-level <level>',
    meaning: 'The least important log line that is shown: `debug`, `info`, `warn`, `error` or `silent`.',
  },
  dashboardPort: {
    schema: z.coerce.number().int().min(0).max(65_535),
    default: 7373,
    env: 'SHOAL_DASHBOARD_PORT',
    flag: '--port <n>',
    meaning: 'The port of the dashboard; 0 takes any that is free.',
  },
  dashboardHost: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9.:[\]-]{1,253}$/, 'expected an address or a name')
      .toLowerCase(),
    default: '127.0.0.1',
    env: 'SHOAL_DASHBOARD_HOST',
    flag: '--host <address>',
    meaning:
      'The address that the dashboard listens on. Any other than one of this machine alone needs `SHOAL_TOKEN`, and a proxy with TLS in front.',
  },
  publicUrl: {
    schema: z
      .url({ protocol: /^https?$/ })
      .regex(
        /^[a-z]+:\/\/[^/?#@]+\/?$/i,
        'must have no path: the page needs a name of its own, such as https://shoal.example',
      )
      .nullable(),
    default: null,
    unset: 'none',
    env: 'SHOAL_PUBLIC_URL',
    flag: '--public-url <url>',
    meaning: 'The address under which a proxy in front offers the dashboard, such as `https://shoal.example`.',
  },
  traces: {
    schema: z.union([z.boolean(), z.stringbool()]),
    default: false,
    env: 'SHOAL_TRACES',
    flag: '--traces',
    meaning: 'Trace each visit with OpenTelemetry, whose SDK you register (docs/logs.md).',
  },
  json: {
    schema: z.union([z.boolean(), z.stringbool()]),
    default: false,
    env: 'SHOAL_JSON',
    flag: '--json',
    meaning: 'Output for programs: one JSON value a line.',
  },
} as const

type Table = typeof CONFIG
type ConfigKey = keyof Table
type Values = { readonly [Key in ConfigKey]: z.output<Table[Key]['schema']> }

export interface Config extends Omit<Values, 'store' | 'grace'> {
  readonly store: string
  readonly graceMs: number
}

/** What a process that works on crawls needs to know, and what it hands on to the worker processes that it starts: no token, no ports. */
const PROCESS_KEYS = [
  ...(['queue', 'store', 'pages', 'proxies', 'pool', 'country', 'alerts', 'browser', 'browserPages'] as const),
  ...(['traces', 'concurrency', 'logLevel', 'graceMs'] as const),
] as const

export type ProcessSettings = Pick<Config, (typeof PROCESS_KEYS)[number]>

/** Only these keys: the rest of the configuration stays in this process. */
export function processSettings(settings: ProcessSettings): ProcessSettings {
  return Object.fromEntries(PROCESS_KEYS.map((key) => [key, settings[key]])) as unknown as ProcessSettings
}

const KEYS = Object.keys(CONFIG) as ConfigKey[]

export interface ConfigSources {
  /** As the command line gave them; undefined means not given. */
  readonly flags: Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string | undefined>>
}

export function loadConfig({ flags, env }: ConfigSources): Config {
  refuseUnknown(flags, env)
  refuseShownPassword(flags.proxies)
  refuseEmptyToken(env)
  const { grace, store, ...values } = Object.fromEntries(
    KEYS.map((key) => [key, chosen(key, flags[key], env)]),
  ) as Values
  return Object.freeze({
    ...values,
    store: store ?? (isOnServer(values.queue) ? CONFIG.queue.default : values.queue),
    graceMs: grace,
  })
}

/** What stands on the command line every user of the machine can read. */
function refuseShownPassword(proxies: unknown): void {
  if (typeof proxies !== 'string' || !/:\/\/[^/]*@/.test(proxies)) return
  throw new ShoalError('config_invalid', '--proxies: a password on the command line shows in the list of processes', {
    hint: 'Write the proxies into a file and name it, or set SHOAL_PROXIES.',
  })
}

/** Set on purpose and empty: whoever wrote it thinks that there is a token. */
function refuseEmptyToken(env: ConfigSources['env']): void {
  if (env[CONFIG.token.env] === '') throw new ShoalError('config_invalid', `${CONFIG.token.env}: it is empty`)
}

function chosen(key: ConfigKey, flag: unknown, env: ConfigSources['env']): unknown {
  const row = CONFIG[key]
  const fromEnv = env[row.env] || ('also' in row ? env[row.also] : undefined) || undefined
  const [value, source] =
    flag !== undefined
      ? [flag, row.flag?.split(' ')[0]]
      : fromEnv !== undefined
        ? [fromEnv, row.env]
        : [row.default, key]
  return check(z.object({ [source ?? key]: row.schema }), { [source ?? key]: value }, 'config_invalid')[source ?? key]
}

function refuseUnknown(flags: ConfigSources['flags'], env: ConfigSources['env']): void {
  const names = KEYS.map((key) => CONFIG[key].env)
  for (const key of Object.keys(flags)) {
    if (!Object.hasOwn(CONFIG, key) || CONFIG[key as ConfigKey].flag === null)
      throw new ShoalError('config_invalid', unknownOption(key, KEYS))
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('SHOAL_') && !(names as string[]).includes(name)) {
      throw new ShoalError('config_invalid', unknownOption(name, names).replace('option', 'environment variable'))
    }
  }
}

/** A queue that other machines can reach, and that holds no records. */
export function isOnServer(queue: string): boolean {
  return /^rediss?(\+(cluster|sentinel))?:\/\//.test(queue)
}

/** An address that may be shown: a password, a lone token, and whatever a query calls a secret become stars. */
export function maskUrl(address: string): string {
  return address
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i, (_all, scheme: string, userInfo: string) => {
      const colon = userInfo.indexOf(':')
      return colon === -1 ? `${scheme}***@` : `${scheme}${userInfo.slice(0, colon)}:***@`
    })
    .replace(/([?&][^=&#]*(?:pass|secret|token|key|auth)[^=&#]*=)[^&#]*/gi, '$1***')
}
