import type { Duration } from './units.js'

/** What a user writes in shoal.config.ts. */
export interface ConfigDefinition extends SettingsDefinition {
  /** Settings that replace those above in an environment: `--env production`, or SHOAL_ENV=production. */
  readonly environments?: Readonly<Record<string, EnvironmentDefinition>>
}

/** Null: the default, whatever the top of the file says. */
export type EnvironmentDefinition = { readonly [Key in keyof SettingsDefinition]: SettingsDefinition[Key] | null }

/**
 * Settings of a process, as in docs/configuration.md. A flag or a SHOAL_… variable overrides them. Files and folders are relative to the config file. A
 * setting that is undefined is refused: the variable that it was read from is probably not set.
 */
export interface SettingsDefinition {
  /** Address of the queue: `sqlite:<file>`, `redis://…` for a fleet, or `memory:`. */
  readonly queue?: string | undefined
  /** Address of the records: `sqlite:<file>` or `postgres://…`. Default: the file of the queue. */
  readonly store?: string | undefined
  /** Address of the raw pages: `files:<folder>` or `s3://bucket/prefix`. */
  readonly pages?: string | undefined
  /** File with the proxy pools, or proxy URLs separated by commas. */
  readonly proxies?: string | undefined
  /** Names of the proxy pools that the workers may use. */
  readonly pool?: string | readonly string[] | undefined
  /** Use only proxies in this country: two letters. */
  readonly country?: string | undefined
  /** Browser for routes with `render`: a path, or a name in PATH. */
  readonly browser?: string | undefined
  /** Number of pages that a worker renders at once. */
  readonly browserPages?: number | undefined
  /** Use the development cache. */
  readonly cache?: boolean | undefined
  /** Folder of the development cache. */
  readonly cacheDir?: string | undefined
  /** Fetch again what is older than this in the cache. */
  readonly cacheAge?: Duration | undefined
  /** JSON file with alert rules. */
  readonly alerts?: string | undefined
  /** Number of worker processes. */
  readonly workers?: number | 'auto' | undefined
  /** Maximum number of pages that a worker visits at once. */
  readonly concurrency?: number | 'auto' | undefined
  /** How long Ctrl-C or SIGTERM waits for pages in flight. */
  readonly grace?: Duration | undefined
  /** How long a worker may be silent before the rest of the fleet takes over its pages. */
  readonly lostAfter?: Duration | undefined
  /** Where this process serves /metrics, /healthz and /readyz: a port, or `host:port`. */
  readonly metrics?: number | string | undefined
  /** Lowest log level to print. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent' | undefined
  /** Port of the dashboard. */
  readonly dashboardPort?: number | undefined
  /** Address that the dashboard listens on. */
  readonly dashboardHost?: string | undefined
  /** URL of the dashboard behind a proxy. */
  readonly publicUrl?: string | undefined
  /** Further names under which the dashboard is reached. */
  readonly allowHost?: string | readonly string[] | undefined
  /** Trace each visit with OpenTelemetry. */
  readonly traces?: boolean | undefined
}

/** Returns it unchanged: an editor knows the settings by the type. */
export function defineConfig(config: ConfigDefinition): ConfigDefinition {
  return config
}
