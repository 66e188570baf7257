import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { checkBrowser } from '../fetch/browser/chromium.js'
import type { Log } from '../log.js'
import { openFilesLimit, RAISE_LIMIT, tooFewFiles } from '../open-files.js'
import { rendersPages, type Spider } from '../spider/spider.js'
import { type BackendAddresses, type Backends, openBackends } from '../wire/backends.js'
import { openSecrets } from '../worker/secrets.js'
import { openPatiently } from './open-patiently.js'
import { patient } from './patient.js'
import { setupWarnings } from './setup-warnings.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import { forfeitDeadWorkers } from './workers/forfeit.js'

export interface OpenedForWork {
  readonly spiders: Spider[]
  /** For the work itself: a call waits while its backend is down, until the drain. */
  readonly backends: Backends
  /** For requests that someone waits for: one that was answered with a failure must not be carried out when the queue is back. */
  readonly direct: Backends
}

/** The spiders and backends of a command that works on crawls; `waitMs`: for a queue or store that is not there yet. */
export async function openForWork(
  sources: readonly SpiderSource[],
  settings: BackendAddresses & { readonly proxies?: string | null },
  drain: AbortSignal,
  clock: Clock,
  log: Log,
  waitMs = 0,
): Promise<OpenedForWork> {
  refuseLowLimit()
  const spiders = await unlessDrained(Promise.all(sources.map(spiderFrom)), drain)
  refuseTwins(spiders)
  refuseMemory(settings)
  const opening = openPatiently(() => openBackends(settings), waitMs, { drain, clock, log })
  const opened = await unlessDrained(opening, drain).catch((error: unknown) => {
    opening.then((late) => late.close()).catch(() => {})
    throw error
  })
  for (const message of [...opened.warnings, ...setupWarnings(settings, spiders)])
    log.warn('backend.warning', { message })
  const backends = {
    ...opened,
    frontier: patient(opened.frontier, clock, drain),
    store: patient(opened.store, clock, drain),
  }
  try {
    await forfeitDeadWorkers(backends.frontier, clock)
  } catch (error) {
    await backends.close()
    throw error
  }
  return { spiders, backends, direct: opened }
}

/** Before the first page is fetched: a missing secret, bucket or browser is reported now. */
export async function readyForPages(
  spiders: readonly Spider[],
  { pages }: Backends,
  browser: string | null,
): Promise<void> {
  for (const { name, secrets } of spiders) openSecrets(name, secrets, process.env)
  if (spiders.some(({ savePages }) => savePages)) await pages.ready()
  if (spiders.some(rendersPages)) await checkBrowser(browser)
}

/** Nothing is open yet, so there is nothing to drain: Ctrl-C does not wait for a slow spider file or a locked database. */
export async function unlessDrained<Result>(
  work: Promise<Result>,
  drain: AbortSignal,
  before = 'the crawl was opened',
): Promise<Result> {
  const drained = new Promise<never>((_, reject) => {
    const stop = () => reject(new ShoalError('interrupted', `stopped before ${before}`))
    if (drain.aborted) stop()
    else drain.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, drained])
}

/** With too few, threads and databases fail at random places, and a crawl may hang instead of ending. */
function refuseLowLimit(): void {
  const fault = tooFewFiles('crawl', openFilesLimit())
  if (fault !== null) throw new ShoalError('no_sockets', fault, { hint: RAISE_LIMIT })
}

/** Leases are granted by the name of the spider. */
function refuseTwins(spiders: readonly Spider[]): void {
  const names = spiders.map(({ name }) => name)
  const twin = names.find((name, index) => names.indexOf(name) !== index)
  if (twin !== undefined)
    throw new ShoalError('spider_invalid', `two of the spider files define a spider named '${twin}'`, {
      hint: 'Give each spider its own name.',
    })
}

/** For commands whose crawls other processes work on. */
export function refuseMemoryQueue({ queue }: BackendAddresses): void {
  if (queue === 'memory:')
    throw new ShoalError(
      'queue_unknown',
      'a queue in memory ends with this command, and no other process can reach it',
      {
        hint: 'Pass a file (--queue sqlite:<file>) or a server (--queue redis://host:port).',
      },
    )
}

function refuseMemory({ queue, store }: BackendAddresses): void {
  if (store === 'memory:' && queue !== 'memory:')
    throw new ShoalError('queue_unknown', 'records in memory would be lost when the process ends', {
      hint: 'Pass a file: --store sqlite:<file>.',
    })
}
