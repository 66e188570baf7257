import { EXIT } from '../errors.js'
import type { CrawlInfo } from '../frontier/frontier.js'
import type { RunOptions } from '../run/run-crawl.js'
import type { RunProgress, RunStart, RunSummary } from '../run/run-summary.js'
import { argumentsText } from '../spider/arguments.js'
import { rememberSource } from './export/source-memory.js'
import type { CrawlFlags, Session } from './session.js'
import { withSignals } from './signals.js'
import { clean } from './terminal/clean.js'
import { count, plural, timeOfDay } from './terminal/format.js'
import { type Live, liveLines } from './terminal/live.js'
import { logText } from './terminal/log-line.js'
import { stderr } from './terminal/streams.js'
import { type Style, styleFor } from './terminal/style.js'
import { type Fleet, progressLine, progressLines } from './views/progress-view.js'

/** How often a plain progress line is written to a pipe. */
const PLAIN_EVERY_MS = 5_000

export interface FinishedRun {
  readonly start: RunStart | null
  /** Where the spider came from. */
  readonly source: RunOptions['source']
  readonly summary: RunSummary
  readonly exitCode: number
}

/** Runs a crawl with its progress on standard error and Ctrl-C as a drain. */
export async function runWithProgress(
  session: Session,
  flags: CrawlFlags,
  source: RunOptions['source'],
  sidecar?: RunOptions['sidecar'],
): Promise<FinishedRun> {
  const { clock, json } = session
  session.noteAddresses()
  const settings = { ...session.settings, cache: await session.openCache(flags) }
  const { workers, concurrency } = settings
  const style = styleFor(stderr, process.env)
  const live = !json && stderr.isTTY ? liveLines(stderr) : null
  const say = (line: string) => {
    if (live !== null) live.say(line)
    else stderr.write(`${line}\n`)
  }

  let latest: RunProgress | null = null
  let start: RunStart | null = null
  const onDrain = () => {
    const what =
      latest === null
        ? 'stopping'
        : `finishing ${count(latest.stats.leased)} ${latest.stats.leased === 1 ? 'page' : 'pages'} in flight`
    say(`${what}; press Ctrl-C again to stop immediately`)
  }
  const showProgress = json ? () => {} : progressPrinter(live, style, { workers, concurrency }, clock.now, say)
  return withSignals(onDrain, async (signals) => {
    const { runCrawl } = await import('../run/run-crawl.js')
    const summary = await runCrawl({
      settings,
      source,
      workers,
      fresh: flags.fresh,
      seeds: flags.seeds,
      sidecar,
      drain: signals.drain,
      writeLog: (line) => say(live === null ? line.trimEnd() : logText(line, style)),
      onStart(started) {
        start = started
        rememberSource(settings, started.spider, source)
        if (!json) for (const line of startLines(started)) say(line)
      },
      onProgress(progress) {
        latest = progress
        showProgress(progress)
      },
    })
    const ended = summary.pages === 0 ? EXIT.nothingFetched.code : EXIT.ok.code
    return { start, source, summary, exitCode: summary.interrupted ? signals.exitCode() : ended }
  }).finally(() => live?.stop())
}

function progressPrinter(
  live: Live | null,
  style: Style,
  fleet: Fleet,
  now: () => number,
  say: (line: string) => void,
) {
  if (live !== null) return (progress: RunProgress) => live.draw(progressLines(progress, fleet, now(), style))
  let lastAt = now()
  return (progress: RunProgress) => {
    if (now() - lastAt < PLAIN_EVERY_MS) return
    lastAt = now()
    say(`${timeOfDay(lastAt)}  ${progressLine(progress, fleet, lastAt)}`)
  }
}

export function startLines(start: RunStart): string[] {
  const lines: string[] = []
  if (start.setAside !== null) {
    lines.push(
      `cancelled unfinished crawl ${start.setAside.id} of ${clean(start.setAside.spider)}; its records are kept`,
    )
  }
  const seeds = start.seeds.added > 0 ? `, ${plural(start.seeds.added, 'start URL')} added` : ''
  const args = argumentsText(start.args)
  const given = args === '' ? '' : ` with ${clean(args)}`
  lines.push(
    `${start.resumed ? 'resuming' : 'starting'} crawl ${start.crawl} of ${clean(start.spider)}${given}${seeds}`,
  )
  for (const other of start.others) lines.push(otherLine(other))
  return lines
}

/** It is not resumed by these arguments, but it is open, and workers serve every open crawl of their spider. */
function otherLine({ id, state, args }: CrawlInfo): string {
  const given = argumentsText(args)
  const what = `crawl ${id}, ${given === '' ? 'without arguments' : `with ${clean(given)}`}, is unfinished too`
  return state === 'paused'
    ? `${what} (paused); the same arguments resume it`
    : `${what}: workers fetch its pages as well; to prevent that, run: shoal pause ${id}`
}
