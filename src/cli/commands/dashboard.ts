import type { Command } from 'commander'
import { systemRandom } from '../../clock.js'
import { warnOf, withClosers } from '../../closers.js'
import { createLog } from '../../log.js'
import type { SidecarParts } from '../../run/sidecar.js'
import type { SpiderSource } from '../../run/spider-source.js'
import { dashboardOptions, serveDashboardHere } from '../dashboard.js'
import { rememberSource } from '../export/source-memory.js'
import { guide } from '../help.js'
import { acts, proxyOptions, type Session, watchOptions } from '../session.js'
import { metricsOption, serveMetricsHere } from '../sidecars.js'
import { withSignals } from '../signals.js'
import { type ArgFlags, argOption, fileSources } from '../spider-choice.js'
import { stderr } from '../terminal/streams.js'

export function dashboardCommand(program: Command): void {
  const command = program
    .command('dashboard')
    .description(
      'serve the web dashboard until Ctrl-C: watch and control crawls, hosts, links, workers, proxies and records',
    )
    .argument('[spider...]', 'spider files (.ts, .js) that can be started from the dashboard')
    .action(
      acts(async (session, files: string[], flags: ArgFlags) => {
        await withSignals(
          () => {},
          ({ drain }) => serve(session, fileSources(files, flags), drain),
        )
      }),
    )
  dashboardOptions(metricsOption(watchOptions(proxyOptions(argOption(command)))))
  guide(command, {
    examples: [
      ['dashboard', 'prints a local address with a token that is valid until the command ends'],
      [
        'dashboard books.ts --queue redis://queue.example',
        'crawls of books can be started from the dashboard; workers run them',
      ],
      [
        'dashboard --queue redis://queue.example --metrics 0.0.0.0:9464',
        'with metrics, health checks and /scale for autoscalers on a port of their own',
      ],
      ['dashboard --port 0 --json', '{"url":"http://127.0.0.1:…/#token=…","port":…}'],
    ],
    exitCodes: ['notFound'],
  })
}

async function serve(session: Session, sources: readonly SpiderSource[], drain: AbortSignal): Promise<void> {
  const { settings, clock } = session
  const log = createLog(settings.logLevel, clock, (line) => stderr.write(line))
  const [{ createCrawlStarter, noCrawlStarter }, { openForWork, refuseMemoryQueue }, { SERVICE_WAIT_MS }] =
    await Promise.all([
      import('../../run/crawl-starter.js'),
      import('../../run/open-for-work.js'),
      import('../../run/open-patiently.js'),
    ])
  refuseMemoryQueue(settings)
  session.noteAddresses()
  const parts = { log, localWorkers: null, drain }
  if (sources.length === 0) {
    await session.withBackends(
      (backends) => serveAndWatch(session, { ...parts, backends, spiders: [], start: noCrawlStarter.start }),
      // The audit log is in the store.
      { notes: true },
    )
    return
  }
  await withClosers(warnOf(log), async (closers) => {
    const opened = await openForWork(sources, settings, drain, clock, log, SERVICE_WAIT_MS)
    const { spiders, direct } = opened
    closers.add(() => direct.close())
    const starter = createCrawlStarter(opened, { settings, clock, log })
    closers.add(starter.stop)
    for (const [i, { name }] of spiders.entries()) {
      const source = sources[i]
      if (source !== undefined) rememberSource(settings, name, source)
    }
    await serveAndWatch(session, { ...parts, backends: direct, spiders, start: starter.start })
  })
}

/** Runs until the drain. This process can also take the alert watch of the fleet, because the dashboard shows the samples it takes. */
async function serveAndWatch(session: Session, parts: SidecarParts): Promise<void> {
  const { backends, drain, log } = parts
  const { clock, settings } = session
  const [{ startWatchDuty }, { loadAlerts }] = await Promise.all([
    import('../../run/alerts/watch-duty.js'),
    import('../../run/alerts/load-alerts.js'),
  ])
  const alerts = loadAlerts(settings.alerts, process.env)
  await withClosers(warnOf(log), async (closers) => {
    closers.add(await serveMetricsHere(session, parts, true))
    const close = await serveDashboardHere(session, parts)
    closers.add(close)
    // The watch gets a few seconds to deliver its last alerts; the page closes at once.
    drain.addEventListener('abort', () => void close(), { once: true })
    await startWatchDuty(backends, { alerts, clock, random: systemRandom, log, signal: drain })
  })
}
