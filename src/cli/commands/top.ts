import { type Command, InvalidArgumentError, Option } from 'commander'
import { isOnServer, maskUrl } from '../../config.js'
import { setCrawlState } from '../../coordinator/file-crawl.js'
import { ShoalError } from '../../errors.js'
import { parseDuration } from '../../units.js'
import { controlled } from '../controlled.js'
import { guide } from '../help.js'
import { acts, type Session } from '../session.js'
import { stdout } from '../terminal/streams.js'
import { styleFor } from '../terminal/style.js'

/** Nobody can read faster than this. */
const MIN_EVERY_MS = 200

export function topCommand(program: Command): void {
  const command = program
    .command('top')
    .description(
      'live view of all crawls, hosts and workers, with the current bottleneck; keys to sort, filter and pause',
    )
    .addOption(new Option('--every <duration>', 'refresh interval').argParser(every).default(1_000, '1s'))
    .action(
      acts(async (session, flags: { every: number }) => {
        mustBeTerminal(session)
        await watch(session, flags.every)
      }),
    )
  guide(command, {
    examples: [
      ['top', 'the crawls of this folder; ? shows the keys, q quits'],
      ['top --queue redis://queue.example --every 5s', 'a fleet, refreshed every five seconds'],
    ],
    exitCodes: ['notFound'],
  })
}

function mustBeTerminal({ json }: Session): void {
  const why = json ? 'top is interactive and has no --json' : 'top needs a terminal'
  if (json || !stdout.isTTY || !process.stdin.isTTY)
    throw new ShoalError('usage', why, { hint: 'Use `shoal status --json` or `shoal status --watch`.' })
}

async function watch(session: Session, everyMs: number): Promise<void> {
  const { clock, settings } = session
  // React's development build is slower and logs more; production is what users want.
  process.env.NODE_ENV ??= 'production'
  // With one of these set, ink renders nothing before the end; but this is a terminal.
  for (const name of ['CI', 'CONTINUOUS_INTEGRATION']) process.env[name] = 'false'
  const { showTop } = await import('../top/show-top.js')
  const { createSnapshots } = await import('../top/top-snapshot.js')
  await session.withBackends((backends) =>
    showTop(
      {
        snapshots: createSnapshots(backends, { clock: backends.queueClock, fleet: isOnServer(settings.queue) }),
        ...{ clock, everyMs, where: maskUrl(settings.queue), style: styleFor(stdout, process.env) },
        async carryOut({ crawl, spider, state }) {
          const action = state === 'paused' ? 'crawl.pause' : 'crawl.resume'
          await controlled(session, backends.store, { action, target: crawl, details: { spider } }, () =>
            setCrawlState(backends.frontier, crawl, state),
          )
          return `crawl ${crawl} of ${spider} is ${state === 'paused' ? 'paused' : 'running again'}`
        },
      },
      { stdin: process.stdin, stdout },
    ),
  )
}

function every(text: string): number {
  try {
    return Math.max(MIN_EVERY_MS, parseDuration(text))
  } catch (error) {
    throw new InvalidArgumentError(error instanceof ShoalError ? error.hint : String(error))
  }
}
