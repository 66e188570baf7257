/** Imports nothing of Shoal: an orchestrator starts a process for each check, and loading the command line would cost four times as much. */
import { parseArgs } from 'node:util'

type Env = Readonly<Record<string, string | undefined>>

/** Where the command of a container can be asked whether it is alive. */
export interface HealthTarget {
  readonly host: string
  readonly port: number
}

const DASHBOARD_PORT = '7373'

/**
 * From the command line and the environment of the container's first process: the metrics port, or that of the dashboard. Null for a command that serves
 * neither, such as `records list` or a worker without `--metrics`: it is alive as long as its process is, and the container ends with that.
 */
export function healthTarget(argv: readonly string[], env: Env): HealthTarget | null {
  const { values, positionals } = parseArgs({
    args: [...argv],
    strict: false,
    allowPositionals: true,
    options: { metrics: { type: 'string' }, port: { type: 'string' }, dashboard: { type: 'boolean' } },
  })
  const metrics = text(values.metrics) || env.SHOAL_METRICS
  if (metrics) return reachable(metrics)
  const serves = values.dashboard === true || positionals.includes('dashboard')
  return serves ? reachable(text(values.port) || dashboardPort(env)) : null
}

/** A service called `shoal-dashboard` makes Kubernetes set the variable to tcp://10.0.0.7:7373, which the command ignores too. */
function dashboardPort({ SHOAL_DASHBOARD_PORT: given = '' }: Env): string {
  return given === '' || given.includes('://') ? DASHBOARD_PORT : given
}

function text(value: string | boolean | readonly (string | boolean)[] | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Null for what is not an address or a fixed port: the command itself refuses it, or picks a port that nobody knows. */
function reachable(address: string): HealthTarget | null {
  const colon = address.lastIndexOf(':')
  const port = Number(address.slice(colon + 1))
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return null
  const host = address.slice(0, Math.max(0, colon)).replace(/^\[|\]$/g, '')
  return { host: host === '' || host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port }
}
