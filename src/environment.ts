import { type Found, filePathIn, fileVariable, secretIn } from './secret-file.js'

type Env = Readonly<Record<string, string | undefined>>

/** The names under which a setting is looked up, in this order. */
export interface EnvNames {
  readonly env: string
  /** Names that other programs use. Their value may be meant for another program, so one that does not fit is skipped, not refused. */
  readonly also?: readonly string[]
  readonly fits?: RegExp
  /**
   * It may hold a secret, so each name has a second one for a file: `SHOAL_TOKEN_FILE`. `content`: the file holds the value. `path`: the setting
   * is a file in any case, and both variables name it.
   */
  readonly secretFile?: 'content' | 'path'
}

/** Every variable that is looked at for a setting. */
export function variablesOf({ env: own, also = [], secretFile }: EnvNames): string[] {
  return [own, ...also].flatMap((name) => (secretFile === undefined ? [name] : [name, fileVariable(name)]))
}

/** Shoal's own variable. An empty one counts as not set: that is how a shell or a Compose file switches one off. */
export function ownInEnv({ env: own, secretFile }: EnvNames, env: Env): Found | null {
  return valueIn(own, secretFile, env)
}

/** The first variable of another program that fits, and the names of those before it that did not. */
export function borrowedInEnv(
  { also = [], fits = /^/, secretFile }: EnvNames,
  env: Env,
): { readonly found: Found | null; readonly skipped: readonly string[] } {
  const skipped: string[] = []
  for (const name of also) {
    const found = valueIn(name, secretFile, env)
    if (found === null) continue
    if (fits.test(found.value)) return { found, skipped }
    skipped.push(found.name)
  }
  return { found: null, skipped }
}

function valueIn(name: string, secretFile: EnvNames['secretFile'], env: Env): Found | null {
  if (secretFile === 'content') return secretIn(name, env)
  const path = secretFile === 'path' ? filePathIn(name, env) : null
  if (path !== null) return path
  const value = env[name]
  return value ? { name, value } : null
}

/** `tcp://10.0.0.7:7373`, also with an IPv6 address: no setting has such a value. */
const ENDPOINT = /^(?:tcp|udp|sctp):\/\//

const OF_A_SERVICE = [
  /^SHOAL_(?:\w+_)?SERVICE_HOST$/,
  /^SHOAL_(?:\w+_)?SERVICE_PORT$/,
  /^SHOAL_(?:\w+?_)?SERVICE_PORT_\w/,
  /^SHOAL_(?:\w+_)?PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR|START|END|PORT_START|PORT_END))?$/,
]

/**
 * Without the variables that Kubernetes sets in every container for each service of the namespace, here for services called `shoal` or `shoal-…`, and
 * those of links between Docker containers. A service `shoal-dashboard` even sets SHOAL_DASHBOARD_PORT, to tcp://10.0.0.7:7373: only the value
 * shows it.
 */
export function withoutInjected(env: Env): Env {
  const links = linkPrefixes(env)
  const isInjected = (name: string, value: string) =>
    OF_A_SERVICE.some((pattern) => pattern.test(name)) ||
    (/^SHOAL_(?:\w+_)?PORT$/.test(name) && ENDPOINT.test(value)) ||
    links.some((prefix) => name === `${prefix}NAME` || name.startsWith(`${prefix}ENV_`))
  return Object.fromEntries(Object.entries(env).filter(([name, value = '']) => !isInjected(name, value)))
}

/** A link to a container sets SHOAL_REDIS_NAME to `/worker/shoal-redis`, and repeats the container's own variables as SHOAL_REDIS_ENV_…. */
function linkPrefixes(env: Env): string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    /^SHOAL_(?:\w+_)?NAME$/.test(name) && /^\/[^/]+\/[^/]+$/.test(value) ? [name.slice(0, -'NAME'.length)] : [],
  )
}
