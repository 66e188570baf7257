import type { Spider } from '../spider/spider.js'

/** The browser of a process that renders pages. */
export interface BrowserOrder {
  /** Name or path; null or left out: the first that is found. */
  readonly browser?: string | null
  /** Pages that a worker renders at once. */
  readonly browserPages?: number
}

export const BROWSER_PAGES = 4

export function rendersPages(spiders: readonly Spider[]): boolean {
  return spiders.some(({ routes }) => [...routes.values()].some(({ render }) => render !== null))
}
