import { readdir } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import { asShoalError, EXIT, ShoalError } from '../errors.js'
import type { TryRun } from '../run/try/start-try-thread.js'
import type { TriedPage, TryOrder } from '../run/try/tried-page.js'
import { type Stamps, stampsOf, untilChanged } from '../run/try/watch-files.js'
import { failureText } from './failure.js'
import type { Session } from './session.js'
import { clean } from './terminal/clean.js'
import { plural, timeOfDay } from './terminal/format.js'
import { stderr, stdout } from './terminal/streams.js'

const CLEAR_SCREEN = '\x1b[2J\x1b[3J\x1b[H'
const MODULES: ReadonlySet<string> = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'])
/** More files than this in one folder are not its modules. */
const MOST_MODULES = 500

interface Watched {
  readonly order: TryOrder
  /** The spider's own file. */
  readonly file: string
  readonly start: (order: TryOrder) => TryRun
  readonly show: (page: TriedPage) => void
}

/** What ends a wait: a file has changed, or somebody pressed a key. */
type Event = { readonly changed: string } | Key
type Key = 'fetch' | 'quit' | 'interrupt'

/** Tries the page again whenever a file of the spider changes, until somebody ends it. A spider that cannot be loaded is no reason to end. */
export async function watchPage(session: Session, { order, file, start, show }: Watched): Promise<number> {
  const { clock, json, output } = session
  const keys = readKeys()
  let files: readonly string[] = [resolve(file)]
  let fresh = order.fresh
  let because = ''

  const display = ({ page, failure }: Ended) => {
    if (stdout.isTTY && !json) stdout.write(CLEAR_SCREEN)
    if (because !== '' && !json) output.print(output.style.dim(because))
    if (page !== null) show(page)
    if (failure !== null) stderr.write(failureText(failure, { json, debug: false, style: output.style }))
    if (process.stdin.isTTY && !json)
      output.print(output.style.dim(`\nwatching ${plural(files.length, 'file')}: r fetches the page again, q ends`))
  }
  /** Whichever comes first. */
  const next = async (stamps: Stamps, run: Promise<Ended> | null): Promise<Event | Ended> => {
    const waiting = new AbortController()
    const change = untilChanged(stamps, clock, waiting.signal).then((name): Event => ({ changed: name ?? '' }))
    try {
      return await Promise.race([change, keys.next(), ...(run === null ? [] : [run])])
    } finally {
      waiting.abort()
    }
  }

  try {
    for (;;) {
      const before = await stampsOf(files)
      const run = start({ ...order, fresh })
      let event = await next(before, endOf(run.tried))
      if (isEnded(event)) {
        files = await watchedFiles(file, run.files, event.failure !== null)
        display(event)
        // What was already watched keeps its stamp: it may have changed while the page was tried.
        const after = await stampsOf(files.filter((name) => !before.has(name)))
        event = await next(new Map([...after, ...[...before].filter(([name]) => files.includes(name))]), null)
      } else await run.stop()
      if (event === 'quit') return EXIT.ok.code
      if (event === 'interrupt') return EXIT.interrupted.code
      fresh = event === 'fetch'
      const what = typeof event === 'object' && 'changed' in event ? `${clean(event.changed)} changed` : 'fetched again'
      because = `${timeOfDay(clock.now())}  ${what}`
    }
  } finally {
    keys.stop()
  }
}

/** How one try ended. */
interface Ended {
  readonly page: TriedPage | null
  readonly failure: ShoalError | null
}

function isEnded(event: Event | Ended): event is Ended {
  return typeof event === 'object' && 'failure' in event
}

async function endOf(tried: Promise<TriedPage>): Promise<Ended> {
  try {
    const page = await tried
    const { failure } = page
    return { page, failure: failure && new ShoalError(failure.code, failure.message, { hint: failure.hint }) }
  } catch (error) {
    return { page: null, failure: asShoalError(error) }
  }
}

/** Of a spider that failed to load nobody knows what it imports: all modules in its folder may be what has to be fixed. */
async function watchedFiles(file: string, loaded: ReadonlySet<string>, failed: boolean): Promise<readonly string[]> {
  const spider = resolve(file)
  const folder = dirname(spider)
  const near = failed ? await readdir(folder).catch(() => []) : []
  const modules = near.filter((name) => MODULES.has(extname(name))).slice(0, MOST_MODULES)
  return [...new Set([spider, ...loaded, ...modules.map((name) => join(folder, name))])]
}

interface Keys {
  /** The next key that means something. */
  next(): Promise<Key>
  stop(): void
}

const MEANINGS: Readonly<Record<string, Key>> = {
  q: 'quit',
  r: 'fetch',
  '\x03': 'interrupt',
  '\x04': 'quit',
}

function readKeys(): Keys {
  const { stdin } = process
  let waiting = (_key: Key) => {}
  const onData = (data: Buffer) => {
    const meaning = MEANINGS[data.toString()]
    if (meaning !== undefined) waiting(meaning)
  }
  const onSignal = () => waiting('interrupt')
  process.on('SIGINT', onSignal)
  if (stdin.isTTY) stdin.setRawMode(true).on('data', onData).resume()
  return {
    next: () =>
      new Promise((resolve) => {
        waiting = resolve
      }),
    stop() {
      process.off('SIGINT', onSignal)
      if (stdin.isTTY) stdin.setRawMode(false).off('data', onData).pause()
    },
  }
}
