import { resolve } from 'node:path'
import type { Command } from 'commander'
import { createLog } from '../../log.js'
import { dashboardOptions, serveDashboardHere } from '../dashboard.js'
import { guide } from '../help.js'
import { acts, proxyOptions, type Session } from '../session.js'
import { listenForSignals } from '../signals.js'
import { rememberSource } from '../source-memory.js'

export function dashboardCommand(program: Command): void {
  const command = program
    .command('dashboard')
    .description('a page to see and steer crawls, hosts, links, workers, proxies and records; until Ctrl-C')
    .argument('[spider...]', 'spider files (.ts, .js) that can be started from the page')
    .action(
      acts(async (session, files: string[]) => {
        const signals = listenForSignals(() => {})
        try {
          await serve(session, files, signals.drain)
        } finally {
          signals.restore()
        }
        return undefined
      }),
    )
  dashboardOptions(proxyOptions(command))
  guide(command, {
    examples: [
      ['dashboard', 'prints an address of this machine, with a token that is good until it ends'],
      [
        'dashboard books.ts --queue redis://queue.example',
        'crawls of books can be started from the page; workers do them',
      ],
      ['dashboard --port 0 --json', '{"url":"http://127.0.0.1:…/#token=…","port":…}'],
    ],
    exits: ['notFound'],
  })
}

async function serve(session: Session, files: readonly string[], drain: AbortSignal): Promise<void> {
  const { settings, clock } = session
  const log = createLog(settings.logLevel, clock, (line) => process.stderr.write(line))
  const { beginCrawls, noBeginner } = await import('../../run/begin-crawls.js')
  if (files.length === 0) {
    await session.withPlant(async (plant) => {
      const close = await serveDashboardHere(session, { plant, spiders: [], begin: noBeginner.begin, log })
      await untilAborted(drain)
      await close()
    })
    return
  }
  const { openForWork, refuseMemoryQueue } = await import('../../run/open-for-work.js')
  refuseMemoryQueue(settings)
  const sources = files.map((file) => ({ kind: 'file', path: resolve(file) }) as const)
  const { spiders, plant } = await openForWork(sources, settings, drain, clock, log)
  const beginner = beginCrawls(plant, spiders, { ...settings, clock, log })
  try {
    for (const [i, { name }] of spiders.entries()) {
      const source = sources[i]
      if (source !== undefined) rememberSource(settings, name, source)
    }
    const close = await serveDashboardHere(session, { plant, spiders, begin: beginner.begin, log })
    await untilAborted(drain)
    await close()
  } finally {
    await beginner.stop()
    await plant.close()
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
