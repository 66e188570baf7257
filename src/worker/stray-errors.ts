import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.js'
import { spiderError } from '../error-place.js'
import type { ShoalError } from '../errors.js'
import type { Log } from '../log.js'
import { namedText } from '../thrown.js'
import type { Link } from '../url/link.js'
import { withoutOpenedSecrets } from './secrets.js'

/**
 * What a handler started and did not await usually fails at once: its page waits for that. Twice, because Node runs the timers of one moment in
 * several turns if one of them throws.
 */
const LINGER_MS = [10, 10]

/** The page whose code is running, in a callback of whatever kind. */
interface Scope {
  readonly link: Pick<Link, 'fp' | 'url'>
  /** Fails the page; null once it is done. */
  fail: ((error: ShoalError) => void) | null
}

/**
 * Errors of a spider that no catch can reach: thrown in a timer, an event or a promise that nobody awaits. They would end the whole thread. This finds the
 * page that they belong to, whose error they become. Following every promise of a page costs CPU (6 % of a crawl and more on Node 20), so a worker does
 * it only after the first such error has ended the thread before it.
 */
export class StrayErrors {
  readonly #storage = new AsyncLocalStorage<Scope>()
  readonly #clock: Clock
  readonly #log: Log

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = clock
    this.#log = log
  }

  /** Runs the spider's code for a page. */
  async run<Result>(link: Pick<Link, 'fp' | 'url'>, work: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { link, fail: null }
    const failed = new Promise<never>((_, reject) => {
      scope.fail = reject
    })
    try {
      const result = await Promise.race([this.#storage.run(scope, work), failed])
      for (const ms of LINGER_MS) await Promise.race([this.#clock.sleep(ms), failed])
      return result
    } finally {
      scope.fail = null
    }
  }

  /** An exception that nobody caught. False: it belongs to no page. */
  caught(thrown: unknown): boolean {
    const scope = this.#storage.getStore()
    if (scope === undefined) return false
    const said = `in a callback that the handler did not wait for: ${namedText(thrown)}`
    const error = spiderError('handler_error', thrown, said)
    const { place } = error
    const message = withoutOpenedSecrets(error.message)
    if (scope.fail !== null) scope.fail(error)
    else this.#log.warn('spider.uncaught', { ...scope.link, message, ...(place !== null && { place }) })
    return true
  }
}
