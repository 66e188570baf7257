import { warnOf, withClosers } from '../../closers.js'
import { type CacheSettings, processSettings } from '../../config.js'
import { asShoalError, EXIT, isShoalError, ShoalError } from '../../errors.js'
import { isRunnable, readFixture } from '../../fixture/fixture-files.js'
import { createLog } from '../../log.js'
import { openShellPages, type ShellPage, type ShellPages, spiderForAnyPage } from '../../run/shell/shell-pages.js'
import type { Spider } from '../../spider/spider.js'
import { failureText } from '../failure.js'
import type { Session } from '../session.js'
import { clean } from '../terminal/clean.js'
import { stderr, stdout } from '../terminal/streams.js'
import { styleFor } from '../terminal/style.js'
import { historyFile } from './history-file.js'
import { shellCommands } from './shell-commands.js'
import { runRepl } from './shell-repl.js'
import { pageText } from './shell-view.js'
import { jsonWriter, shellWriter } from './shell-writer.js'

export interface ShellOrder {
  /** Null: any page of any site. */
  readonly spider: Spider | null
  readonly url: string | undefined
  /** A file to read instead of the site. */
  readonly html: string | undefined
  readonly allowPrivate: readonly string[]
  readonly cache: CacheSettings | null
}

/** What a page is called that comes from a file, if nobody says. */
const FILE_URL = 'https://page.invalid/'
const GREETING = "help() shows what you can type; page and $ are the page, fetch('…') gets another"

/** The prompt. Returns the exit code: at a terminal 0, whatever was typed; otherwise that of the first command that failed. */
export function runShell(session: Session, order: ShellOrder): Promise<number> {
  const { clock, json } = session
  const interactive = process.stdin.isTTY === true && stdout.isTTY === true && !json
  const style = styleFor(stdout, process.env)
  const log = createLog(session.settings.logLevel, clock, (line) => stderr.write(line))
  let running = { aborted: false }
  let exitCode: number = EXIT.ok.code

  const onError = (thrown: unknown): void => {
    const isOurs = isShoalError(thrown)
    if (exitCode === EXIT.ok.code) exitCode = isOurs ? exitCodeOf(thrown) : EXIT.spider.code
    const how = { json, debug: session.settings.logLevel === 'debug', style: styleFor(stderr, process.env) }
    stderr.write(isOurs || json ? failureText(ofCommand(thrown), how) : `${how.style.red(clean(thrownText(thrown)))}\n`)
  }

  return withClosers(warnOf(log), async (closers) => {
    const spider = order.spider ?? spiderForAnyPage(order.allowPrivate)
    const settings = { ...processSettings(session.settings), cache: order.cache }
    const pages = await openShellPages(spider, settings, { clock, log, closers })
    const hasSpider = order.spider !== null
    const first = await firstPage(order, (url) => pages.fetch(url, '', running), pages.given).catch(
      (thrown: unknown) => {
        // Somebody at a terminal can try another URL; a script would work on nothing.
        if (!interactive) throw failedShell(thrown)
        onError(asShoalError(thrown))
        return null
      },
    )
    const parts = { pages, style, hasSpider, signal: () => running }
    const commands = shellCommands(parts, first)
    if (interactive) {
      if (first !== null) stdout.write(`${pageText(first, hasSpider, style)}\n`)
      stdout.write(`${style.dim(GREETING)}\n`)
    }
    const $ = () => commands.$
    const colors = interactive && style.dim('x') !== 'x'
    await runRepl({
      ...{ commands, interactive, colors, onError, input: process.stdin, output: stdout },
      writer: json ? jsonWriter($) : shellWriter($, style, colors),
      history: historyFile(process.env),
      onInterrupt() {
        running.aborted = true
        running = { aborted: false }
      },
    })
    return interactive ? EXIT.ok.code : exitCode
  })
}

async function firstPage(
  { url, html }: Pick<ShellOrder, 'url' | 'html'>,
  fetch: (url: string) => Promise<ShellPage>,
  given: ShellPages['given'],
): Promise<ShellPage | null> {
  if (html === undefined) return url === undefined ? null : fetch(url)
  // A page that `try --save` or a browser saved says where it came from.
  const from = url ?? ((await isRunnable(html)) ? undefined : FILE_URL)
  return given((await readFixture(html, from)).page)
}

/** A page that cannot be fetched gives the command an exit code of its own; errors that the user can fix keep theirs. */
function failedShell(thrown: unknown): ShoalError {
  const error = asShoalError(thrown)
  process.exitCode = exitCodeOf(error)
  return error
}

/** Somebody else's error, for programs. */
function ofCommand(thrown: unknown): ShoalError {
  if (isShoalError(thrown)) return thrown
  return new ShoalError('handler_error', thrownText(thrown), { hint: 'Fix the command.' })
}

/** `ReferenceError: x is not defined`. The errors of the prompt are those of another realm, so `instanceof Error` does not know them. */
function thrownText(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that cannot be shown was thrown'
  }
}

function exitCodeOf(error: ShoalError): number {
  return error.next === 'stop' || error.next === 'backend' ? error.exitCode : EXIT.nothingFetched.code
}
