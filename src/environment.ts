type Env = Readonly<Record<string, string | undefined>>

/** The names under which a setting is looked up, in this order. */
export interface EnvNames {
  readonly env: string
  /** Names that other programs use. Their value may be meant for another program, so one that does not fit is skipped, not refused. */
  readonly also?: readonly string[]
  readonly fits?: RegExp
}

interface Found {
  readonly name: string
  readonly value: string
}

/** An empty variable counts as not set: that is how a shell or a Compose file switches one off. */
export function findInEnv({ env: own, also = [], fits = /^/ }: EnvNames, env: Env): Found | null {
  const value = env[own]
  if (value) return { name: own, value }
  return borrowed(also, env).find((found) => fits.test(found.value)) ?? null
}

/** The variables of other programs that were looked at and did not fit. Once one is found, the rest does not matter. */
export function skippedInEnv({ env: own, also = [], fits = /^/ }: EnvNames, env: Env): string[] {
  if (env[own]) return []
  const all = borrowed(also, env)
  const found = all.findIndex(({ value }) => fits.test(value))
  return all.slice(0, found < 0 ? undefined : found).map(({ name }) => name)
}

function borrowed(names: readonly string[], env: Env): Found[] {
  return names.flatMap((name) => {
    const value = env[name]
    return value ? [{ name, value }] : []
  })
}

const OF_A_SERVICE = [
  /^SHOAL_(?:\w+_)?SERVICE_HOST$/,
  /^SHOAL_(?:\w+_)?SERVICE_PORT$/,
  /^SHOAL_(?:\w+?_)?SERVICE_PORT_\w/,
  /^SHOAL_(?:\w+_)?PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/,
  /^SHOAL_PORT$/,
]

export function withoutInjected(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name, value = '']) => !isInjected(name, value)))
}

/**
 * Kubernetes sets such variables in every container for each service of the namespace, here for services called `shoal` or `shoal-…`; links between
 * Docker containers do the same. A service `shoal-dashboard` even sets SHOAL_DASHBOARD_PORT, to tcp://10.0.0.7:7373: only the value shows it.
 */
function isInjected(name: string, value: string): boolean {
  if (OF_A_SERVICE.some((pattern) => pattern.test(name))) return true
  return /^SHOAL_\w+_PORT$/.test(name) && /^(?:tcp|udp|sctp):\/\//.test(value)
}
