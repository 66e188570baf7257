import { type Command, Option } from 'commander'
import { CONFIG, isOnServer, maskUrl } from '../config.js'
import type { SidecarParts } from '../run/sidecar.js'
import { isCrawlOf } from '../spider/arguments.js'
import { spiderOfCrawl } from './export/source-memory.js'
import { plain, type Session } from './session.js'
import { stderr } from './terminal/streams.js'

/** On the commands that serve the dashboard. */
export function dashboardOptions(command: Command): Command {
  for (const key of ['dashboardPort', 'dashboardHost', 'publicUrl', 'allowHost'] as const) {
    const { flag, meaning, default: standard } = CONFIG[key]
    const option = new Option(flag, standard === null ? plain(meaning) : `${plain(meaning)} (default: ${standard})`)
    // A flag can be shorter than its name in the configuration.
    option.attributeName = () => key
    command.addOption(option)
  }
  return command
}

/** Serves the dashboard and its API, and prints the address: on standard error, or with --json as a line of its own. */
export async function serveDashboardHere(
  { settings, json, output }: Session,
  { backends, spiders, start, log, localWorkers, drain }: SidecarParts,
): Promise<() => Promise<void>> {
  const [{ serveDashboard }, { createMonitor }] = await Promise.all([
    import('../api/server.js'),
    import('../observe/metrics/monitor.js'),
  ])
  const { queue, store, dashboardHost, dashboardPort, publicUrl, allowHost, token } = settings
  const fleet = isOnServer(queue)
  const clock = backends.queueClock
  const dashboard = await serveDashboard(
    {
      ...{ backends, clock, log, pools: [], fleet },
      monitor: createMonitor({
        ...{ backends, clock, fleet, queue: true, localWorkers: localWorkers === null ? null : localWorkers.list },
        draining: () => drain.aborted,
      }),
      queue: maskUrl(queue),
      store: maskUrl(store),
      spiders: new Set(spiders.map(({ name }) => name)),
      async spiderOf(crawl) {
        const loaded = spiders.find(({ name, args }) => name === crawl.spider && isCrawlOf({ args }, crawl.args))
        return loaded ?? (await spiderOfCrawl(settings, crawl))
      },
      start,
    },
    { host: dashboardHost, port: dashboardPort, token, publicUrl, allowHosts: allowHost ?? [] },
  )
  if (json) output.json({ url: dashboard.url, port: dashboard.port })
  else stderr.write(`dashboard: ${dashboard.url}${token === null ? '' : ' (asks for the token you set)'}\n`)
  return () => dashboard.close()
}
