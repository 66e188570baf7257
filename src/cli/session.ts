import { existsSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type Clock, systemClock } from '../clock.js'
import { type CacheSettings, CONFIG, type Config, isOnServer, loadConfig, maskUrl } from '../config.js'
import { ShoalError } from '../errors.js'
import { addressLines, surprisingAddressLines } from '../run/address-lines.js'
import type { Backends, StorePart } from '../wire/backends.js'
import { type ConfigFile, openConfigFile } from './config-file.js'
import { type Output, standardOutput } from './output.js'
import { setOutputLevel } from './spider-output.js'
import { bytes, plural } from './terminal/format.js'

/** What every command works with. */
export interface Session {
  readonly settings: Config
  readonly json: boolean
  readonly clock: Clock
  readonly output: Output
  /**
   * Opens the backends, works, closes them. A command that only reads does not create a database; one that writes the audit log creates the
   * record file for a queue on a server (`notes`).
   */
  withBackends<Result>(
    work: (backends: Backends) => Promise<Result>,
    options?: { readonly notes?: boolean },
  ): Promise<Result>
  /** The same with the records and raw pages alone. */
  withResults<Result>(work: (results: StorePart) => Promise<Result>): Promise<Result>
  /** For a command that works on crawls: says where, if that came from the environment. */
  noteAddresses(): void
  /** The flags to repeat in a printed command so that it works when copied. An address with a password is not printed: the variable for it is. */
  readonly sameDatabase: string
  /** Null: there is none. */
  readonly configFile: ConfigFile | null
  /** The same, with another database unless the user named one. */
  at(queue: string): Session
  /** The cache that the user asked for, ready for use; null: none. What was deleted is reported. */
  openCache(flags: CacheFlags, byDefault?: boolean): Promise<CacheSettings | null>
}

type Flags = Readonly<Record<string, unknown>>

/** On every command. */
export function commonOptions(command: Command): Command {
  const { queue, store, pages, config, env, json, logLevel } = CONFIG
  return command
    .option(queue.flag, `${plain(queue.meaning)} (default: ${queue.default})`)
    .option(store.flag, plain(store.meaning))
    .option(pages.flag, plain(pages.meaning))
    .option(config.flag, `${plain(config.meaning)} (default: ${plain(config.unset)})`)
    .option(env.flag, plain(env.meaning))
    .option(json.flag, plain(json.meaning))
    .addOption(new Option(logLevel.flag, 'lowest log level to print').choices(logLevel.schema.options))
}

/** On the commands that run a crawl. */
export interface CrawlFlags extends CacheFlags {
  readonly fresh: boolean
  readonly seeds?: string
}

export const SEEDS_HELP =
  'additional start URLs: a file with one per line, - for standard input, file.csv#column, a sitemap or RSS/Atom feed, or a template like ' +
  "'https://shop.example/{1..100}'"

export function crawlOptions(command: Command): Command {
  const { workers } = CONFIG
  command.option(workers.flag, `${plain(workers.meaning)} (default: ${workers.default})`, wholeNumberOrAuto)
  return cacheOptions(workerOptions(command)).option(
    '--fresh',
    'start a new crawl instead of resuming an unfinished one',
    false,
  )
}

/** On the commands that run workers. */
export function workerOptions(command: Command): Command {
  const { concurrency, grace, lostAfter, browser, browserPages, traces } = CONFIG
  return watchOptions(proxyOptions(command))
    .option(browser.flag, plain(browser.meaning))
    .option(browserPages.flag, `${plain(browserPages.meaning)} (default: ${browserPages.default})`, wholeNumber)
    .option(traces.flag, plain(traces.meaning))
    .option(concurrency.flag, `${plain(concurrency.meaning)} (default: ${concurrency.default})`, wholeNumberOrAuto)
    .option(grace.flag, `${plain(grace.meaning)} (default: ${grace.default})`)
    .option(lostAfter.flag, `${plain(lostAfter.meaning)} (default: ${lostAfter.default})`)
}

/** On the commands that somebody runs while writing a spider. */
export interface CacheFlags {
  readonly cacheClear: boolean
}

export function cacheOptions(command: Command): Command {
  const { cache, cacheDir, cacheAge } = CONFIG
  return command
    .option(cache.flag, 'for development: keep responses in a folder, and send nothing for what is in it')
    .option(cacheDir.flag, `${plain(cacheDir.meaning)} (default: ${cacheDir.default})`)
    .option(cacheAge.flag, plain(cacheAge.meaning))
    .option('--cache-clear', 'delete what the cache contains first; implies --cache', false)
}

/** On the commands that can evaluate alerts. */
export function watchOptions(command: Command): Command {
  const { alerts } = CONFIG
  return command.option(alerts.flag, plain(alerts.meaning))
}

/** On the commands that use proxies. `pool`: false where the command has a pool argument of its own. */
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
    throw new InvalidArgumentError('Expected a whole number, 1 or more.')
  return value
}

export function wholeNumberOrAuto(text: string): number | 'auto' {
  if (text === 'auto') return text
  if (!/^\d+$/.test(text) || Number(text) < 1) throw new InvalidArgumentError("Expected a whole number, or 'auto'.")
  return Number(text)
}

function openSession(flags: Flags, configFile: ConfigFile | null): Session {
  const sources = { flags, env: process.env, file: configFile }
  const settings = loadConfig(sources)
  setOutputLevel(settings.logLevel)
  const output = standardOutput()
  let isNoted = settings.json
  const noteOnce = (lines: readonly string[]) => {
    if (!isNoted) for (const line of lines) output.note(line)
    isNoted = true
  }
  return {
    settings,
    json: settings.json,
    clock: systemClock,
    output,
    noteAddresses: () => noteOnce(addressLines(settings)),
    sameDatabase: sameDatabase(flags),
    configFile,
    // The records of a demo do not belong into the store of a project.
    at: (queue) =>
      flags.queue === undefined ? openSession({ ...flags, queue }, null) : openSession(flags, configFile),
    async openCache({ cacheClear }, byDefault = false) {
      const cache =
        cacheClear || byDefault ? loadConfig({ ...sources, flags: { ...flags, cache: true } }).cache : settings.cache
      if (cache === null) return null
      const { prepareCache } = await import('../run/open-cache.js')
      const cleared = await prepareCache(cache, cacheClear)
      if (cleared !== null && !settings.json)
        output.note(`deleted ${plural(cleared.responses, 'response')} (${bytes(cleared.bytes)}) from ${cache.folder}`)
      return cache
    },
    async withBackends(work, { notes = false } = {}) {
      const { queue, store, pages } = settings
      noteOnce(surprisingAddressLines(settings))
      const onServer = isOnServer(queue)
      if (!onServer) for (const address of [queue, store]) mustExist(address)
      const { openBackends } = await import('../wire/backends.js')
      // A fleet can be inspected from a machine without a record store; none is created there.
      const backends = await openBackends(
        { queue, store: onServer && !notes && isMissing(store) ? 'memory:' : store, pages },
        { create: false },
      )
      return whileOpen(backends, work)
    },
    async withResults(work) {
      noteOnce(surprisingAddressLines(settings))
      mustExist(settings.store)
      const { openResults } = await import('../wire/backends.js')
      return whileOpen(await openResults(settings), work)
    },
  }
}

/** Closes what was opened, however the work with it ends. */
export async function whileOpen<Opened extends { close(): Promise<void> }, Result>(
  opened: Opened,
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(opened)
  } finally {
    await opened.close()
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
  throw new ShoalError('not_found', `no database at ${fileOf(address)} yet`, {
    hint: 'Start a crawl with `shoal run <spider>` or `shoal demo`, or choose another file with --queue.',
  })
}

function sameDatabase(flags: Flags): string {
  return (['queue', 'store', 'pages', 'config', 'env'] as const)
    .flatMap((name) => {
      const address = flags[name]
      return typeof address === 'string' ? [` --${name} ${printable(address, CONFIG[name].env)}`] : []
    })
    .join('')
}

/** With stars for its password an address is of no use when copied; the variable is, once it is set. */
function printable(address: string, variable: string): string {
  return maskUrl(address) === address ? shellWord(address) : `"$${variable}"`
}

/** Quoted for the shell, if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** How the user calls this program: with npx it is not on the PATH. */
export function programName(env: NodeJS.ProcessEnv): string {
  return env.npm_command === 'exec' ? 'npx shoal' : 'shoal'
}

/** A command action with its session; its result is the exit code, if it has one. */
export function acts<Args extends unknown[]>(
  work: (session: Session, ...args: Args) => Promise<number | undefined> | Promise<void>,
) {
  return async (...args: [...Args, Command]) => {
    const command = args.at(-1)
    if (!(command instanceof Command)) throw new Error('commander hands the command over last')
    const given = Object.entries(command.optsWithGlobals<Flags>()).filter(([key]) => Object.hasOwn(CONFIG, key))
    const flags = Object.fromEntries(given)
    const session = openSession(flags, await openConfigFile({ flags, env: process.env }))
    const code = await work(session, ...(args.slice(0, -1) as Args))
    if (typeof code === 'number') process.exitCode = code
  }
}
