import { Closers, warnOf } from '../closers.js'
import type { Log } from '../log.js'
import type { Spider } from '../spider/spider.js'
import type { Backends } from '../wire/backends.js'
import type { CrawlStarter } from './crawl-starter.js'
import type { LocalWorkers } from './workers/local-workers.js'

/** Runs as long as the command, on the same backends: the dashboard, the metrics. What it opens, it adds to the closers. */
export type Sidecar = (parts: SidecarParts, closers: Closers) => Promise<void>

export interface SidecarParts {
  /** Calls fail at once while the queue is down, instead of waiting. */
  readonly backends: Backends
  /** Spiders that can be started from here. */
  readonly spiders: readonly Spider[]
  readonly start: CrawlStarter['start']
  readonly log: Log
  /** Null for a command without workers. */
  readonly localWorkers: LocalWorkers | null
  /** Aborted when the command is asked to end. */
  readonly drain: AbortSignal
}

/** A sidecar that fails to close does not fail the command: the failure is logged. */
export async function openSidecar(sidecar: Sidecar | undefined, parts: SidecarParts): Promise<() => Promise<void>> {
  const closers = new Closers()
  const close = async () => (await closers.close()).forEach(warnOf(parts.log))
  try {
    await sidecar?.(parts, closers)
  } catch (error) {
    await close()
    throw error
  }
  return close
}
