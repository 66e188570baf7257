import { z } from 'zod'
import { borrowedInEnv, type EnvNames, ownInEnv, variablesOf, withoutInjected } from './environment.js'
import { ShoalError } from './errors.js'
import { AUTO_CONCURRENCY, atLeastOne, check, country, duration, listenAddress, unknownOption } from './options.js'
import { withPassword } from './server-password.js'

/** `a, b` as a list. */
function words() {
  return z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter((word) => word !== ''))
    .nullable()
}

const ON_SERVER = /^rediss?(\+(cluster|sentinel))?:\/\//
const POSTGRES = /^postgres(ql)?:\/\//

/**
 * Everything that is set per process rather than per spider: key, schema, default, environment variable, description. A flag overrides the environment, and
 * the environment overrides the default. docs/configuration.md is generated from this table (npm run docs).
 */
export const CONFIG = {
  queue: {
    schema: z.string().min(1),
    default: 'sqlite:.shoal/shoal.db',
    env: 'SHOAL_QUEUE',
    secretFile: 'content',
    also: ['REDIS_URL'],
    fits: ON_SERVER,
    flag: '--queue <address>',
    meaning:
      'Address of the queue: `sqlite:<file>`, `redis://…` for a fleet (also `rediss://…`, `redis+cluster://…`, `redis+sentinel://…`), or `memory:` for a crawl that ends with the process.',
  },
  store: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'same as the queue',
    env: 'SHOAL_STORE',
    secretFile: 'content',
    also: ['DATABASE_URL', 'DB_URL'],
    fits: POSTGRES,
    flag: '--store <address>',
    meaning:
      'Address of the records: `sqlite:<file>`, or `postgres://user:password@host/database` for a fleet. Defaults to the file of the queue, or to `sqlite:.shoal/shoal.db` when the queue is on a server.',
  },
  queuePassword: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'the one in the address',
    env: 'SHOAL_QUEUE_PASSWORD',
    secretFile: 'content',
    flag: null,
    meaning:
      'Password of the queue, as it is: no character of it needs an escape, as it would in an address. For an address without a password.',
  },
  storePassword: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'the one in the address',
    env: 'SHOAL_STORE_PASSWORD',
    secretFile: 'content',
    flag: null,
    meaning: 'The same for the records.',
  },
  pages: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'next to the records',
    env: 'SHOAL_PAGES',
    secretFile: 'content',
    flag: '--pages <address>',
    meaning:
      'Address of the raw pages, for spiders that save them: `files:<folder>`, or `s3://bucket/prefix?endpoint=…&region=…`. Defaults to the folder `pages` next to the records, or to `.shoal/pages` when those are on a server.',
  },
  proxies: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'no proxies',
    env: 'SHOAL_PROXIES',
    secretFile: 'path',
    also: ['PROXY_LIST'],
    flag: '--proxies <file>',
    meaning:
      'File with the proxy pools: JSON, or one proxy URL per line. The environment variable may also contain the URLs themselves, separated by commas.',
  },
  pool: {
    schema: words(),
    default: null,
    unset: 'all',
    env: 'SHOAL_POOL',
    flag: '--pool <names>',
    meaning:
      'Names of the proxy pools that the workers may use, separated by commas. Pages that need other pools are left to other workers.',
  },
  country: {
    schema: country.nullable(),
    default: null,
    unset: 'any',
    env: 'SHOAL_COUNTRY',
    flag: '--country <code>',
    meaning: 'Use only proxies in this country: two letters, such as `de`.',
  },
  browser: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'the first of chromium, chromium-browser, google-chrome',
    env: 'SHOAL_BROWSER',
    flag: '--browser <path>',
    meaning: 'Browser for routes with `render`: a path, or a name in PATH.',
  },
  browserPages: {
    schema: z.coerce.number().int().min(1).max(100),
    default: 4,
    env: 'SHOAL_BROWSER_PAGES',
    flag: '--browser-pages <n>',
    meaning: 'Number of pages that a worker renders at once.',
  },
  cache: {
    schema: z.union([z.boolean(), z.stringbool()]),
    default: false,
    env: 'SHOAL_CACHE',
    flag: '--cache',
    meaning:
      'For development: keep responses in a folder and use them in the next run, which then sends nothing (docs/cache.md). Only for `run`, `crawl`, `try` and `shell`.',
  },
  cacheDir: {
    schema: z.string().min(1),
    default: '.shoal/cache',
    env: 'SHOAL_CACHE_DIR',
    flag: '--cache-dir <folder>',
    meaning: 'Folder of the development cache. As an option it implies `--cache`.',
  },
  cacheAge: {
    schema: duration({ min: 1 }).nullable(),
    default: null,
    unset: 'any age',
    env: 'SHOAL_CACHE_AGE',
    flag: '--cache-age <duration>',
    meaning: 'Fetch again what is older than this in the cache, such as `1d`. As an option it implies `--cache`.',
  },
  alerts: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'default rules, reported to the log',
    env: 'SHOAL_ALERTS',
    secretFile: 'path',
    flag: '--alerts <file>',
    meaning: 'JSON file with alert rules, webhooks and commands. Use the same file for all processes of a fleet.',
  },
  workers: {
    schema: z.union([z.literal('auto'), z.coerce.number().int().min(1).max(1024)], {
      error: "expected a whole number from 1 to 1024, or 'auto'",
    }),
    default: 'auto',
    env: 'SHOAL_WORKERS',
    flag: '--workers <n>',
    meaning:
      "Number of worker processes (1 runs in the command's own process). `auto`: one at first, more while CPU is the bottleneck and a core is idle.",
  },
  concurrency: {
    schema: z.union(
      [z.literal('auto').transform(() => AUTO_CONCURRENCY), z.coerce.number().pipe(atLeastOne.max(10_000))],
      {
        error: "expected a whole number from 1 to 10000, or 'auto'",
      },
    ),
    default: 'auto',
    env: 'SHOAL_CONCURRENCY',
    flag: '--concurrency <n>',
    meaning: `Maximum number of pages that a worker visits at once, over all hosts. It starts with a few and finds out how many its CPU and memory can take. \`auto\`: at most ${AUTO_CONCURRENCY}. Limits per host are set in the spider.`,
  },
  grace: {
    schema: duration(),
    default: '10s',
    env: 'SHOAL_GRACE',
    flag: '--grace <duration>',
    meaning: 'How long Ctrl-C or SIGTERM waits for pages in flight before the rest returns to the queue.',
  },
  lostAfter: {
    // A pause of three seconds in which nobody got to run (frontier/liveness.ts), and the beat that was due in it, must fit in: otherwise a busy machine loses
    // workers that are well.
    schema: duration({ min: 5_000, max: 3_600_000 }),
    default: '10s',
    env: 'SHOAL_LOST_AFTER',
    flag: '--lost-after <duration>',
    meaning:
      'How long a worker may be silent before the rest of the fleet takes over its pages: at least `5s`. Raise it where the network to the queue fails for longer than that.',
  },
  metrics: {
    schema: listenAddress.nullable(),
    default: null,
    unset: 'off',
    env: 'SHOAL_METRICS',
    flag: '--metrics <[host:]port>',
    meaning:
      'Where this process serves `/metrics`, `/healthz` and `/readyz`: a port on this machine only, or `host:port`. Access from other machines requires SHOAL_TOKEN.',
  },
  token: {
    schema: z
      .string()
      .min(16, 'must have at least 16 characters')
      .regex(/^[\x21-\x7e]+$/, 'must contain only ASCII characters and no spaces')
      .max(512)
      .nullable(),
    default: null,
    unset: 'a random one, printed by the dashboard',
    env: 'SHOAL_TOKEN',
    secretFile: 'content',
    flag: null,
    meaning:
      'Token that `/metrics` and the API require as `Authorization: Bearer …`, at least 16 characters. Only in the environment, because every user of the machine can see a command line.',
  },
  logLevel: {
    schema: z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    default: 'warn',
    env: 'SHOAL_LOG_LEVEL',
    flag: '--log-level <level>',
    meaning: 'Lowest log level to print: `debug`, `info`, `warn`, `error` or `silent`.',
  },
  dashboardPort: {
    schema: z.coerce.number().int().min(0).max(65_535),
    default: 7373,
    env: 'SHOAL_DASHBOARD_PORT',
    flag: '--port <n>',
    meaning: 'Port of the dashboard; 0 for any free port.',
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
      'Address that the dashboard listens on. If other machines can reach it, `SHOAL_TOKEN` is required, and a TLS proxy in front.',
  },
  publicUrl: {
    schema: z
      .url({ protocol: /^https?$/ })
      .regex(
        /^[a-z]+:\/\/[^/?#@]+\/?$/i,
        'must not have a path: the dashboard needs its own host name, such as https://shoal.example',
      )
      .nullable(),
    default: null,
    unset: 'none',
    env: 'SHOAL_PUBLIC_URL',
    flag: '--public-url <url>',
    meaning: 'URL of the dashboard behind a proxy, such as `https://shoal.example`.',
  },
  allowHost: {
    schema: words().pipe(
      z
        .array(
          z
            .string()
            .toLowerCase()
            .regex(
              /^(?:[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?|\[[0-9a-f:.]+\])$/,
              'expected host names without port or path',
            ),
        )
        .nullable(),
    ),
    default: null,
    unset: 'its own address, loopback and the public URL',
    env: 'SHOAL_ALLOW_HOST',
    flag: '--allow-host <names>',
    meaning:
      'Further names under which the dashboard is reached, separated by commas: that of a service in a cluster or a Compose network, such as `dashboard`. Requests under any other name are refused.',
  },
  traces: {
    schema: z.union([z.boolean(), z.stringbool()]),
    default: false,
    env: 'SHOAL_TRACES',
    flag: '--traces',
    meaning: 'Trace each visit with OpenTelemetry; you register the SDK (docs/logs.md).',
  },
  config: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'the nearest `shoal.config.ts` up to the root of the project',
    env: 'SHOAL_CONFIG',
    flag: '--config <file>',
    meaning: 'File with settings: `.ts`, `.js`, `.mjs` or `.json`.',
  },
  env: {
    schema: z.string().min(1).nullable(),
    default: null,
    unset: 'none',
    env: 'SHOAL_ENV',
    flag: '--env <name>',
    meaning: 'Environment of the config file, such as `production`: its settings replace those at the top of the file.',
  },
  json: {
    schema: z.union([z.boolean(), z.stringbool()]),
    default: false,
    env: 'SHOAL_JSON',
    flag: '--json',
    meaning: 'Output for programs: one JSON value per line.',
  },
} as const

type Table = typeof CONFIG
type ConfigKey = keyof Table
type Values = { readonly [Key in ConfigKey]: z.output<Table[Key]['schema']> }

/** Settings of one command, of its command line, or secret: a file has none of them. */
const NOT_IN_FILES = ['config', 'env', 'token', 'queuePassword', 'storePassword', 'json'] as const
type FileKey = Exclude<ConfigKey, (typeof NOT_IN_FILES)[number]>

export interface Config
  extends Omit<
    Values,
    | 'store'
    | 'queuePassword'
    | 'storePassword'
    | 'grace'
    | 'lostAfter'
    | 'cache'
    | 'cacheDir'
    | 'cacheAge'
    | 'config'
    | 'env'
  > {
  readonly store: string
  /** Null: every request is sent. */
  readonly cache: CacheSettings | null
  readonly graceMs: number
  readonly lostAfterMs: number
  readonly origins: Origins
}

export interface CacheSettings {
  readonly folder: string
  /** Older responses are fetched again; null: responses of any age are used. */
  readonly maxAgeMs: number | null
}

/** Where an address came from: a flag, an environment variable or a config file; null is the default. */
interface Origins {
  readonly queue: string | null
  readonly store: string | null
  /** Variables of other programs that hold an address of another kind. */
  readonly skipped: readonly string[]
}

/** What a process that works on crawls needs to know, and what it hands on to the worker processes that it starts: no token, no ports. */
const PROCESS_KEYS = [
  ...(['queue', 'store', 'pages', 'proxies', 'pool', 'country', 'alerts', 'browser', 'browserPages'] as const),
  ...(['cache', 'traces', 'concurrency', 'logLevel', 'graceMs', 'lostAfterMs'] as const),
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
  /** Null or left out: there is no config file. */
  readonly file?: FileSettings | null
}

/** The settings of a config file, those of the chosen environment before those at its top. */
export interface FileSettings {
  readonly values: ReadonlyMap<string, FileValue>
}

interface FileValue {
  readonly value: unknown
  /** For people: `shoal.config.ts`, or `production in shoal.config.ts`. */
  readonly from: string
  /** Where exactly, for an error: `shoal.config.ts: environments.production.workers`. */
  readonly path: string
}

/** The file and the environment that the user asked for; null: none in particular. */
export function configChoice({ flags, env: given }: ConfigSources): Pick<Values, 'config' | 'env'> {
  const env = withoutInjected(given)
  const choice = (key: 'config' | 'env') => chosen(key, flags[key], env, null).value as string | null
  return { config: choice('config'), env: choice('env') }
}

/** Settings that a config file may have. */
export const FILE_KEYS = KEYS.filter((key): key is FileKey => !(NOT_IN_FILES as readonly string[]).includes(key))

/**
 * In this order: the flag, the variable of Shoal, the config file (its environment, then its top), variables of other programs, the default. A
 * config file was written for Shoal, REDIS_URL may have been set for anything.
 */
export function loadConfig({ flags, env: given, file = null }: ConfigSources): Config {
  const env = withoutInjected(given)
  refuseUnknown(flags, env)
  refuseShownPassword(flags.proxies)
  refuseEmptyToken(env)
  const choices = Object.fromEntries(KEYS.map((key) => [key, chosen(key, flags[key], env, file)])) as Choices
  const {
    grace,
    lostAfter,
    store: _store,
    queuePassword: _queuePassword,
    storePassword: _storePassword,
    cache,
    cacheDir,
    cacheAge,
    config: _config,
    env: _env,
    ...values
  } = Object.fromEntries(KEYS.map((key) => [key, choices[key].value])) as unknown as Values
  const queue = completed(choices.queue, choices.queuePassword, ON_SERVER)
  const store = completed(withQueue(choices.store, queue), choices.storePassword, POSTGRES)
  return Object.freeze({
    ...values,
    queue: queue.value,
    store: store.value ?? (isOnServer(queue.value) ? CONFIG.queue.default : queue.value),
    cache: usesCache(cache, flags) ? { folder: cacheDir, maxAgeMs: cacheAge } : null,
    graceMs: grace,
    lostAfterMs: lostAfter,
    origins: {
      ...{ queue: queue.from, store: store.from },
      skipped: [...queue.skipped, ...store.skipped],
    },
  })
}

interface Choice<Value> {
  readonly value: Value
  readonly from: string | null
  readonly skipped: readonly string[]
}

type Choices = { readonly [Key in ConfigKey]: Choice<Values[Key]> }

/** Whoever says on the command line where it is, or how old, wants it. A variable for every project says only where. */
function usesCache(cache: boolean, flags: ConfigSources['flags']): boolean {
  return cache || flags.cacheDir !== undefined || flags.cacheAge !== undefined
}

/** Whoever names a file for the queue wants the records in it too, and not in the database of another program. */
function withQueue(store: Choices['store'], queue: Choices['queue']): Choices['store'] {
  const named = queue.from !== null && !isOnServer(queue.value)
  if (!named || !(isOfOtherPrograms(store.from) || store.from === null)) return store
  return { value: null, from: null, skipped: [] }
}

/** A file has no password, and an address on the command line that has one was meant to be used as it is. */
function completed<Address extends string | null>(
  address: Choice<Address>,
  password: Choice<string | null>,
  server: RegExp,
): Choice<Address> {
  const { value, from } = address
  if (value === null || password.value === null || !server.test(value)) return address
  const whole = withPassword(value, password.value)
  if (whole !== null) return { ...address, value: whole as Address }
  if (from?.startsWith('--')) return address
  throw new ShoalError('config_invalid', `${password.from} is set, and the address in ${from} has a password too`, {
    hint: 'Remove the password from the address, or unset the variable.',
  })
}

/** Every user of the machine can read the command line. */
function refuseShownPassword(proxies: unknown): void {
  if (typeof proxies !== 'string' || !/:\/\/[^/]*@/.test(proxies)) return
  throw new ShoalError('config_invalid', '--proxies: a password on the command line is visible in the process list', {
    hint: 'Put the proxies into a file and pass --proxies <file>, or set SHOAL_PROXIES.',
  })
}

/** Whoever set it, even to nothing, believes that there is a token. */
function refuseEmptyToken(env: ConfigSources['env']): void {
  const names = variablesOf(CONFIG.token)
  const empty = names.find((name) => env[name] === '')
  if (empty !== undefined && !names.some((name) => env[name]))
    throw new ShoalError('config_invalid', `${empty} is empty`)
}

interface Row extends EnvNames {
  readonly schema: z.ZodType
  readonly default: unknown
  readonly flag: string | null
}

function chosen(key: ConfigKey, flag: unknown, env: ConfigSources['env'], file: FileSettings | null): Choice<unknown> {
  const row: Row = CONFIG[key]
  if (flag !== undefined) return checked(row, flag, row.flag?.split(' ')[0] ?? key)
  const own = ownInEnv(row, env)
  if (own !== null) return checked(row, own.value, own.name)
  const inFile = file?.values.get(key)
  if (inFile !== undefined) return { ...checked(row, defined(inFile) ?? row.default, inFile.path), from: inFile.from }
  const { found, skipped } = borrowedInEnv(row, env)
  if (found !== null) return { ...checked(row, found.value, found.name), skipped }
  return { ...checked(row, row.default, key), from: null, skipped }
}

function checked({ schema }: Row, value: unknown, name: string): Choice<unknown> {
  const { [name]: result } = check(z.object({ [name]: schema }), { [name]: value }, 'config_invalid')
  return { value: result, from: name, skipped: [] }
}

/** Without this, a server where one variable is missing would silently work on a database of its own. */
function defined({ value, path }: FileValue): unknown {
  if (value !== undefined) return value
  throw new ShoalError('config_invalid', `${path}: is undefined`, {
    hint: 'If it is read from an environment variable, set that variable; to use the default, write null or leave it out.',
  })
}

function refuseUnknown(flags: ConfigSources['flags'], env: ConfigSources['env']): void {
  const names = KEYS.flatMap((key) => variablesOf({ ...(CONFIG[key] as Row), also: [] }))
  for (const key of Object.keys(flags)) {
    if (!Object.hasOwn(CONFIG, key) || CONFIG[key as ConfigKey].flag === null)
      throw new ShoalError('config_invalid', unknownOption(key, KEYS))
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('SHOAL_') && !names.includes(name)) {
      throw new ShoalError('config_invalid', unknownOption(name, names).replace('option', 'environment variable'), {
        ...(name.endsWith('_FILE') && {
          hint: `From a file: ${names.filter((one) => one.endsWith('_FILE')).join(', ')}.`,
        }),
      })
    }
  }
}

/** Whether an address came from a variable that was perhaps set for another program. */
export function isOfOtherPrograms(origin: string | null): boolean {
  return origin !== null && BORROWED.has(origin)
}

const BORROWED: ReadonlySet<string> = new Set(
  [CONFIG.queue, CONFIG.store].flatMap((row: Row) => variablesOf(row).filter((name) => !name.startsWith('SHOAL_'))),
)

/** A queue that other machines can reach, and that does not hold the records. */
export function isOnServer(queue: string): boolean {
  return ON_SERVER.test(queue)
}

/** An address that can be printed: passwords, tokens, and secrets in the query become stars. */
export function maskUrl(address: string): string {
  return address
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)@/i, (_all, scheme: string, userInfo: string) => {
      const colon = userInfo.indexOf(':')
      return colon === -1 ? `${scheme}***@` : `${scheme}${userInfo.slice(0, colon)}:***@`
    })
    .replace(/[?&#].*/s, (rest) => rest.replace(/[^&#]+/g, maskParameter))
}

function maskParameter(parameter: string): string {
  const value = parameter.indexOf('=') + 1
  return SECRET_NAME.test(parameter.slice(0, value)) ? `${parameter.slice(0, value)}***` : parameter
}

const SECRET_NAME = /pass|secret|token|key|auth/i
