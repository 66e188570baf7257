import { AsyncLocalStorage } from 'node:async_hooks'
import type { Link } from '../url/link.js'

/** `fp`: left out for a page that is in no queue. */
export type PageAbout = Pick<Link, 'route' | 'url'> & Partial<Pick<Link, 'fp'>>

/**
 * Which page the spider code belongs to that is running now. It is known for free until a handler awaits something. Following it through its promises
 * costs CPU (6 % of a crawl and more on Node 20), so that begins when somebody asks in vain: with the first line that an asynchronous handler prints.
 */
class RunningPage {
  #now: PageAbout | null = null
  #storage: AsyncLocalStorage<PageAbout> | null = null

  run<Result>(link: PageAbout, code: () => Result): Result {
    const before = this.#now
    this.#now = link
    try {
      return this.#storage === null ? code() : this.#storage.run(link, code)
    } finally {
      this.#now = before
    }
  }

  /** Null: none, or it is not known. */
  current(): PageAbout | null {
    if (this.#now !== null) return this.#now
    this.#storage ??= new AsyncLocalStorage()
    return this.#storage.getStore() ?? null
  }
}

/** Of this thread, like `console`, which asks for it. */
export const runningPage = new RunningPage()
