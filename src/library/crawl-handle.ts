import { setCrawlState } from '../coordinator/file-crawl.js'
import { ShoalError } from '../errors.js'
import { AUTO_CONCURRENCY } from '../options.js'
import type { RecordDefinitions } from '../spider/definition.js'
import { linkOptions } from '../spider/link-options.js'
import { parseDuration } from '../units.js'
import { createAdmitter } from '../url/admit.js'
import type { Link } from '../url/link.js'
import type { Added, Crawl, RecordOf } from './crawl.js'
import type { CrawlParts, Feeding } from './crawl-parts.js'
import { waitForResult } from './result.js'
import { subscription } from './subscription.js'
import { runUntil } from './workers.js'

const ADDED_AT_ONCE = 1_000

const misuse = (message: string) =>
  new ShoalError('usage', `add: ${message}`, { hint: 'Fix the options passed to add().' })

export function crawlHandle<Kinds extends RecordDefinitions, Data>(
  parts: CrawlParts,
  /** Resolves when the spider's own start URLs are in the queue; null if they are not added. */
  seeding: Promise<void> | null,
): Crawl<Kinds, Data> {
  const { id, spider, backends, closing, running } = parts
  const { frontier } = backends
  const admitter = createAdmitter(spider.admit)
  const feeding: Feeding = { sealed: false, workers: 0, seeding: seeding !== null, failed: new AbortController() }

  const open = () => {
    if (closing.aborted) throw new ShoalError('closed', 'this connection was closed')
  }
  const kept = <Result>(work: Promise<Result>): Promise<Result> => {
    running.add(work)
    const forget = () => running.delete(work)
    work.then(forget, forget)
    return work
  }
  const setState = async (state: 'running' | 'paused' | 'cancelled') => {
    open()
    await setCrawlState(frontier, id, state)
  }
  const seal = async () => {
    open()
    feeding.sealed = true
    // Otherwise when the last one is in the queue: that needs workers, which may be started after this call.
    if (!feeding.seeding) await frontier.seeded(id)
  }
  const seeded = async () => {
    await seeding
    feeding.seeding = false
    if (feeding.sealed && !closing.aborted) await frontier.seeded(id)
  }
  kept(seeded()).catch((error: unknown) => feeding.failed.abort(error))

  return {
    id,

    async add(urls, options) {
      open()
      const how = options === undefined ? {} : linkOptions(options, misuse)
      const refused: Added['refused'][number][] = []
      const sum = { added: 0, known: 0, overLimit: 0 }
      const send = async (links: readonly Link[]) => {
        if (links.length === 0) return
        const { added, known, refused: over } = await frontier.add(id, links)
        sum.added += added
        sum.known += known
        sum.overLimit += over
      }
      let links: Link[] = []
      for await (const url of typeof urls === 'string' ? [urls] : urls) {
        const admission = admitter.resolve(url, '', how)
        const link = admission.ok ? admitter.link(admission.target, 0, how) : admission.refusal
        if ('code' in link) refused.push({ url, code: link.code, message: link.message })
        else links.push(link)
        if (links.length < ADDED_AT_ONCE) continue
        await send(links)
        links = []
      }
      await send(links)
      return { ...sum, refused }
    },

    async stats() {
      open()
      return frontier.stats(id)
    },

    async result(url, { timeout } = {}) {
      open()
      const timeoutMs = timeout === undefined ? null : parseDuration(timeout)
      return kept(waitForResult(parts, admitter, url, timeoutMs) as Promise<RecordOf<Kinds>[]>)
    },

    subscribe: () => subscription(parts, feeding) as AsyncIterable<RecordOf<Kinds>>,

    seal,

    async runWorkers({ concurrency = parts.settings.concurrency, signal, until = 'finished' } = {}) {
      open()
      if (until === 'finished') await seal()
      return kept(runUntil(parts, feeding, concurrency === 'auto' ? AUTO_CONCURRENCY : concurrency, until, signal))
    },

    pause: () => setState('paused'),
    resume: () => setState('running'),
    cancel: () => setState('cancelled'),
  }
}
