import type { Clock } from '../../clock.js'
import type { ShoalError } from '../../errors.js'
import { asShoalError } from '../../errors.js'
import type { ResponseCache } from '../../fetch/cache/response-cache.js'
import type { Fetcher, FetchResponse } from '../../fetch/fetcher.js'
import { type Log, silentLog } from '../../log.js'
import type { TracedStep, VisitTrace } from '../../observe/tracing/tracing.js'
import { withoutOpenedSecrets } from '../../worker/secrets.js'
import type { Timings } from './tried-page.js'

/** More lines than this are counted, not shown: a handler in a loop logs for ever. */
const MOST_LINES = 1_000

/** What happened on the way to a page, gathered from the same places that a crawl reports to. */
export class TryNotes {
  /** Every response but those of logins, in order, from the network or the cache. */
  readonly responses: FetchResponse[] = []
  readonly lines: string[] = []
  /** The last request that got no response. */
  failure: ShoalError | null = null
  /** Why the page was rendered although its route only falls back to it. */
  renderedBecause: string | null = null
  readonly #spent = new Map<string, number>()
  readonly #clock: Clock
  readonly #onLine: (line: string) => void
  #depth = 0

  /** `onLine` receives each line of the spider's code at once: it may never end. */
  constructor(clock: Clock, onLine: (line: string) => void = () => {}) {
    this.#clock = clock
    this.#onLine = onLine
  }

  /** Lines of the spider's code; of Shoal's own events only what a report needs. */
  readonly log: Log = {
    ...silentLog,
    debug: (event, fields) => {
      if (event === 'fetch.rendered') this.renderedBecause = String(fields?.why ?? '')
    },
    spider: (_level, _event, fields) => {
      if (this.lines.length >= MOST_LINES) return
      const line = withoutOpenedSecrets(String(fields.message ?? ''))
      this.lines.push(line)
      this.#onLine(line)
    },
  }

  /** Steps inside a step are part of it. */
  readonly trace: VisitTrace = {
    step: async <Result>({ name }: TracedStep<Result>, work: () => Promise<Result>): Promise<Result> => {
      const began = this.#clock.mono()
      this.#depth++
      try {
        return await work()
      } finally {
        this.#depth--
        if (this.#depth === 0) this.#spent.set(name, (this.#spent.get(name) ?? 0) + this.#clock.mono() - began)
      }
    },
    ended() {},
  }

  /** Sees every request; `fresh`: nothing is taken from the cache. */
  watchedCache(cache: ResponseCache | null, fresh: boolean): ResponseCache {
    return {
      find: async (request) => {
        const found = cache === null || fresh ? null : await cache.find(request)
        if (found !== null) this.responses.push(found)
        return found
      },
      keep: async (request, response) => {
        this.responses.push(response)
        await cache?.keep(request, response)
      },
    }
  }

  watchedFetcher(fetcher: Fetcher): Fetcher {
    return {
      fetch: (request, signal) =>
        fetcher.fetch(request, signal).catch((thrown: unknown) => {
          this.failure = asShoalError(thrown)
          throw thrown
        }),
      close: () => fetcher.close(),
    }
  }

  get timings(): Timings {
    const robots = this.#spent.get('robots')
    const proxy = this.#spent.get('proxy')
    return { ...(robots !== undefined && { robots }), ...(proxy !== undefined && { proxy }) }
  }
}
