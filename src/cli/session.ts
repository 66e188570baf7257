import { existsSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type Clock, systemClock } from '../clock.js'
import { CONFIG, type Config, isOnServer, loadConfig, maskUrl } from '../config.js'
import { ShoalError } from '../errors.js'
import type { Backends, StorePart } from '../wire/backends.js'
import { type Output, standardOutput } from './output.js'

/** What every command has at hand. */
export interface Session {
  readonly settings: Config
  readonly json: boolean
  readonly clock: Clock
  readonly output: Output
  /**
   * Opens the database, works, closes it. A command that only looks does not make a database; one that writes down what it was asked for makes the
   * file of records beside a queue on a server (`notes`).
   */
  withBackends<Result>(
    work: (backends: Backends) => Promise<Result>,
    options?: { readonly notes?: boolean },
  ): Promise<Result>
  /** The same with the records and raw pages alone. */
  withResults<Result>(work: (results: StorePart) => Promise<Result>): Promise<Result>
  /** The flags to repeat in a command that is printed, so that it works as it stands; a password is the reader's to fill in. */
  readonly sameDatabase: string
  /** The same, with another database unless the user named one. */
  at(queue: string): Session
}

type Flags = Readonly<Record<string, unknown>>

/** On every command. */
export function commonOptions(command: Command): Command {
  const { queue, store, pages, json, logLevel } = CONFIG
  return command
    .option(queue.flag, `${plain(queue.meaning)} (default: ${queue.default})`)
    .option(store.flag, plain(store.meaning))
    .option(pages.flag, plain(pages.meaning))
    .option(json.flag, plain(json.meaning))
    .addOption(new Option(logLevel.flag, 'the least important log line that is shown').choices(logLevel.schema.options))
}

/** On the commands that run a crawl. */
export interface CrawlFlags {
  readonly fresh: boolean
  readonly seeds?: string
}

export const SEEDS_HELP =
  'further start URLs: a file with one a line, - for standard input, file.csv#column, a sitemap or feed, or a template like ' +
  "'https://shop.example/{1..100}'"

export function crawlOptions(command: Command): Command {
  const { workers } = CONFIG
  command.option(workers.flag, `${plain(workers.meaning)} (default: ${workers.default})`, wholeNumber)
  return workerOptions(command).option('--fresh', 'start anew instead of resuming an unfinished crawl', false)
}

/** On the commands that have workers. */
export function workerOptions(command: Command): Command {
  const { concurrency, grace, browser, browserPages, traces } = CONFIG
  return watchOptions(proxyOptions(command))
    .option(browser.flag, plain(browser.meaning))
    .option(browserPages.flag, `${plain(browserPages.meaning)} (default: ${browserPages.default})`, wholeNumber)
    .option(traces.flag, plain(traces.meaning))
    .option(concurrency.flag, `${plain(concurrency.meaning)} (default: ${concurrency.default})`, wholeNumber)
    .option(grace.flag, `${plain(grace.meaning)} (default: ${grace.default})`)
}

/** On the commands that may watch over the crawls of the fleet. */
export function watchOptions(command: Command): Command {
  const { alerts } = CONFIG
  return command.option(alerts.flag, plain(alerts.meaning))
}

/** On the commands that go out through proxies. `pool`: one of the command's own takes its place. */
export function proxyOptions(command: Command, { pool = true } = {}): Command {
  const rows = [CONFIG.proxies, ...(pool ? [CONFIG.pool] : []), CONFIG.country]
  return rows.reduce((sum, { flag, meaning }) => sum.option(flag, plain(meaning)), command)
}

export function plain(meaning: string): string {
  return meaning.replaceAll('`', '').replace(/\.$/, '')
}

export function wholeNumber(text: string): number {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('It must be a whole number from 1.')
  return value
}

function openSession(flags: Flags): Session {
  const settings = loadConfig({ flags, env: process.env })
  return {
    settings,
    json: settings.json,
    clock: systemClock,
    output: standardOutput(),
    sameDatabase: sameDatabase(flags),
    at: (queue) => openSession({ ...flags, queue: flags.queue ?? queue }),
    async withBackends(work, { notes = false } = {}) {
      const { queue, store, pages } = settings
      const onServer = isOnServer(queue)
      if (!onServer) for (const address of [queue, store]) mustExist(address)
      const { openBackends } = await import('../wire/backends.js')
      // A fleet can be looked at from a machine that keeps no records, and keeps none then.
      const backends = await openBackends(
        { queue, store: onServer && !notes && isMissing(store) ? 'memory:' : store, pages },
        { create: false },
      )
      try {
        return await work(backends)
      } finally {
        await backends.close()
      }
    },
    async withResults(work) {
      mustExist(settings.store)
      const { openResults } = await import('../wire/backends.js')
      const results = await openResults(settings)
      try {
        return await work(results)
      } finally {
        await results.close()
      }
    },
  }
}

/** The file behind an address; null when there is none. */
export function fileOf(address: string): string | null {
  return address.startsWith('sqlite:') ? address.slice('sqlite:'.length).replace(/^\/\//, '') : null
}

function isMissing(address: string): boolean {
  const file = fileOf(address)
  return file !== null && !existsSync(file)
}

function mustExist(address: string): void {
  if (!isMissing(address)) return
  throw new ShoalError('not_found', `there is no database at ${fileOf(address)} yet`, {
    hint: 'Start a crawl with `shoal run <spider>` or `shoal demo`, or name another file with --queue.',
  })
}

function sameDatabase(flags: Flags): string {
  return ['queue', 'store', 'pages']
    .flatMap((name) => (typeof flags[name] === 'string' ? [` --${name} ${shellWord(maskUrl(flags[name]))}`] : []))
    .join('')
}

/** A word for the shell of the reader. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** How the reader calls this program: under npx it is not on the path. */
export function programName(env: NodeJS.ProcessEnv): string {
  return env.npm_command === 'exec' ? 'npx shoal' : 'shoal'
}

/** An action with its session; what it answers is the exit code. */
export function acts<Args extends unknown[]>(work: (session: Session, ...args: Args) => Promise<number | undefined>) {
  return async (...args: [...Args, Command]) => {
    const command = args.at(-1)
    if (!(command instanceof Command)) throw new Error('commander hands the command over last')
    const given = Object.entries(command.optsWithGlobals<Flags>()).filter(([key]) => Object.hasOwn(CONFIG, key))
    const code = await work(openSession(Object.fromEntries(given)), ...(args.slice(0, -1) as Args))
    if (code !== undefined) process.exitCode = code
  }
}
