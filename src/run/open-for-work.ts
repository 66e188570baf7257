import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import { checkBrowser } from '../fetch/browser/chromium.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import { type BackendAddresses, type Backends, openBackends } from '../wire/backends.js'
import { type BrowserOrder, rendersPages } from './browser-order.js'
import { type SpiderSource, spiderFrom } from './spider-source.js'
import { patient } from './while-away.js'
import { forfeitDeadWorkers } from './workers/dead-workers.js'

export interface OpenedForWork {
  readonly spiders: Spider[]
  /** For work that goes on: its queue may be away later on, until the drain. */
  readonly backends: Backends
  /** The same for orders that somebody waits for: one that was answered with a failure must not be carried out when the queue is back. */
  readonly direct: Backends
}

/** Spiders and backends of a command that works on crawls. */
export async function openForWork(
  sources: readonly SpiderSource[],
  addresses: BackendAddresses,
  drain: AbortSignal,
  clock: Clock,
  log: Log,
): Promise<OpenedForWork> {
  const spiders = await unlessDrained(Promise.all(sources.map(spiderFrom)), drain)
  refuseTwins(spiders)
  refuseMemory(addresses)
  const opening = openBackends(addresses)
  const opened = await unlessDrained(opening, drain).catch((error: unknown) => {
    opening.then((late) => late.close()).catch(() => {})
    throw error
  })
  for (const message of opened.warnings) log.warn('backend.warning', { message })
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

/** Before the first page is fetched: a bucket or a browser that is not there is told now. */
export async function readyForPages(
  spiders: readonly Spider[],
  { pages }: Backends,
  { browser = null }: BrowserOrder,
): Promise<void> {
  if (spiders.some(({ savePages }) => savePages)) await pages.ready()
  if (rendersPages(spiders)) await checkBrowser(browser)
}

/** As long as nothing is begun there is nothing to drain: a spider file or a locked database that takes its time is not waited for. */
async function unlessDrained<Result>(work: Promise<Result>, drain: AbortSignal): Promise<Result> {
  const drained = new Promise<never>((_, reject) => {
    const stop = () => reject(new ShoalError('interrupted', 'stopped before the crawl was opened'))
    if (drain.aborted) stop()
    else drain.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, drained])
}

/** Leases are handed out by the name of a spider. */
function refuseTwins(spiders: readonly Spider[]): void {
  const names = spiders.map(({ name }) => name)
  const twin = names.find((name, index) => names.indexOf(name) !== index)
  if (twin !== undefined)
    throw new ShoalError('spider_invalid', `two of the spider files have the name '${twin}'`, {
      hint: 'Give each spider a name of its own.',
    })
}

/** For commands whose work is done by another process. */
export function refuseMemoryQueue({ queue }: BackendAddresses): void {
  if (queue === 'memory:')
    throw new ShoalError('queue_unknown', 'a queue in memory is gone with this command, and nobody else can reach it', {
      hint: 'Give --queue a file (sqlite:<file>) or a server (redis://host:port).',
    })
}

function refuseMemory({ queue, store }: BackendAddresses): void {
  if (store === 'memory:' && queue !== 'memory:')
    throw new ShoalError('queue_unknown', 'records in memory would be gone with the process that read their pages', {
      hint: 'Give --store a file: sqlite:<file>.',
    })
}
