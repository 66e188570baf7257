import type { ReparseProgress } from '../../run/reparse/reparse.js'
import type { ReparseReport } from '../../run/reparse/reparse-report.js'
import { clean } from '../terminal/clean.js'
import { count, duration, percent, plural, progressBar, rate, timeOfDay } from '../terminal/format.js'
import { liveLines } from '../terminal/live.js'
import { logText } from '../terminal/log-line.js'
import { stderr } from '../terminal/streams.js'
import { type Style, styleFor } from '../terminal/style.js'

/** How often a plain progress line is written to a pipe. */
const PLAIN_EVERY_MS = 5_000

/** The progress of a reparse on standard error: a line redrawn in place on a terminal, a line now and then on a pipe, none with --json. */
export function reparseProgress(json: boolean, now: () => number) {
  const style = styleFor(stderr, process.env)
  const live = !json && stderr.isTTY ? liveLines(stderr) : null
  let lastAt = now()
  const say = (line: string): void => {
    if (live !== null) live.say(line)
    else stderr.write(`${line}\n`)
  }
  return {
    say,
    log: (line: string): void => say(live === null ? line.trimEnd() : logText(line, style)),
    show(progress: ReparseProgress): void {
      if (live !== null) live.draw([barText(progress, style)])
      else if (now() - lastAt >= PLAIN_EVERY_MS) {
        lastAt = now()
        say(`${timeOfDay(lastAt)}  ${progressText(progress, style)}`)
      }
    },
    stop(): void {
      live?.stop()
    },
  }
}

/** For a terminal, with a bar if the number of pages is known. */
function barText(progress: ReparseProgress, style: Style): string {
  const { spider, report, total } = progress
  const bar = total === null ? '' : `${progressBar(report.pages, total, style)}  `
  return `${style.bold(clean(spider))}  ${bar}${figures(progress, style)}`
}

export function progressText(progress: ReparseProgress, style: Style): string {
  return `${style.bold(clean(progress.spider))}  ${figures(progress, style)}`
}

function figures({ report, total, seconds }: ReparseProgress, style: Style): string {
  const { pages, failed } = report
  const perSecond = seconds === 0 ? 0 : pages / seconds
  const left = total === null || perSecond === 0 ? null : Math.max(0, total - pages) / perSecond
  return [
    total === null ? plural(pages, 'page') : `${count(pages)}/${plural(total, 'page')} (${percent(pages, total)})`,
    rate(perSecond),
    plural(written(report), 'record'),
    ...(failed > 0 ? [style.yellow(`${count(failed)} failed`)] : []),
    ...(left === null ? [] : [left < 1 ? 'ends any moment' : `ends in about ${duration(left * 1000)}`]),
  ].join(style.dim(' · '))
}

function written({ kinds }: ReparseReport): number {
  let sum = 0
  for (const tally of kinds.values()) sum += tally.written + tally.unchanged
  return sum
}
