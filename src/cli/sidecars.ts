import type { Command } from 'commander'
import { CONFIG, isOnServer } from '../config.js'
import type { Sidecar, SidecarParts } from '../run/sidecar.js'
import { dashboardOptions, serveDashboardHere } from './dashboard.js'
import { plain, type Session } from './session.js'
import { stderr } from './terminal/streams.js'

/** Sidecars that a command with workers can run. */
export interface SidecarFlags {
  readonly dashboard: boolean
}

/** The dashboard and the metrics, if asked for. `queueMetrics`: also metrics of the queue, not only of the command's own workers. */
export function sidecarFor(session: Session, flags: SidecarFlags, queueMetrics: boolean): Sidecar {
  return async (parts, closers) => {
    closers.add(await serveMetricsHere(session, parts, queueMetrics))
    if (flags.dashboard) closers.add(await serveDashboardHere(session, parts))
  }
}

/** Prints the address: on standard error, or with --json as a line of its own. */
export async function serveMetricsHere(
  { settings, json, output }: Session,
  { backends, localWorkers, drain }: SidecarParts,
  queue: boolean,
): Promise<() => Promise<void>> {
  if (settings.metrics === null) return async () => {}
  const [{ serveMetrics }, { createMonitor }] = await Promise.all([
    import('../run/metrics-server.js'),
    import('../observe/metrics/monitor.js'),
  ])
  const monitor = createMonitor({
    ...{ backends, clock: backends.queueClock, queue, fleet: isOnServer(settings.queue) },
    localWorkers: localWorkers === null ? null : localWorkers.list,
    draining: () => drain.aborted,
  })
  const server = await serveMetrics({ address: settings.metrics, token: settings.token }, monitor)
  if (json) output.json({ metrics: `${server.url}/metrics` })
  else stderr.write(`metrics: ${server.url}/metrics\n`)
  return () => server.close()
}

/** On the commands that can have sidecars. */
export function sidecarOptions(command: Command): Command {
  const flag = 'also serve the dashboard while the command runs; its address is printed at the start'
  return dashboardOptions(metricsOption(command).option('--dashboard', flag, false))
}

/** On the commands that serve metrics. */
export function metricsOption(command: Command): Command {
  const { metrics } = CONFIG
  return command.option(metrics.flag, plain(metrics.meaning))
}
