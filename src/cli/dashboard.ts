import { type Command, Option } from 'commander'
import { CONFIG, isOnServer, maskUrl } from '../config.js'
import type { Log } from '../log.js'
import type { Beginner } from '../run/begin-crawls.js'
import type { Spider } from '../spider/spider.js'
import type { Plant } from '../wire.js'
import { plain, type Session } from './session.js'

/** On the commands that serve the dashboard. */
export function dashboardOptions(command: Command): Command {
  for (const key of ['dashboardPort', 'dashboardHost', 'publicUrl'] as const) {
    const { flag, meaning, default: standard } = CONFIG[key]
    const option = new Option(flag, standard === null ? plain(meaning) : `${plain(meaning)} (default: ${standard})`)
    // A flag can be shorter than what it is called in the configuration.
    option.attributeName = () => key
    command.addOption(option)
  }
  return command
}

export interface Served {
  readonly plant: Plant
  /** Those that can be started from the page. */
  readonly spiders: readonly Spider[]
  readonly begin: Beginner['begin']
  readonly log: Log
}

/** Serves the page and its API, and prints where: for people on standard error, with --json as a line of its own. */
export async function serveDashboardHere(
  { settings, clock, json, output }: Session,
  { plant, spiders, begin, log }: Served,
): Promise<() => Promise<void>> {
  const { serveDashboard } = await import('../api/server.js')
  const { queue, store, dashboardHost, dashboardPort, publicUrl } = settings
  const dashboard = await serveDashboard(
    {
      ...{ plant, clock, log, pools: [], fleet: isOnServer(queue) },
      queue: maskUrl(queue),
      store: maskUrl(store),
      spiders: new Map(spiders.map((spider) => [spider.name, spider])),
      start: begin,
    },
    { host: dashboardHost, port: dashboardPort, token: null, publicUrl },
  )
  if (json) output.json({ dashboard: dashboard.url, port: dashboard.port })
  else process.stderr.write(`dashboard: ${dashboard.url}\n`)
  return () => dashboard.close()
}
