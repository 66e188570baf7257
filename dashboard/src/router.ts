import { useEffect, useState } from 'preact/hooks'

export const CRAWL_VIEWS = ['live', 'hosts', 'links', 'dead', 'explain'] as const
export type CrawlViewName = (typeof CRAWL_VIEWS)[number]
export type PlainView = 'overview' | 'workers' | 'proxies' | 'records' | 'alerts' | 'audit'

export type Route = (
  | { readonly view: PlainView }
  | { readonly view: 'crawl'; readonly crawl: string; readonly part: CrawlViewName }
  | { readonly view: 'unknown' }
) & { readonly query: Readonly<Record<string, string>> }

const PLAIN: Readonly<Record<string, PlainView>> = {
  '': 'overview',
  workers: 'workers',
  proxies: 'proxies',
  records: 'records',
  alerts: 'alerts',
  audit: 'audit',
}

export function routeOf(hash: string): Route {
  const [place = '', search = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s)
  const query = Object.fromEntries(new URLSearchParams(search))
  const parts = place.split('/').map(decoded)
  const [first = '', crawl, part = 'live'] = parts
  if (parts.length === 1 && Object.hasOwn(PLAIN, first)) return { view: PLAIN[first] ?? 'overview', query }
  const named = CRAWL_VIEWS.find((one) => one === part)
  if (first === 'crawls' && crawl !== undefined && crawl !== '' && named !== undefined && parts.length <= 3) {
    return { view: 'crawl', crawl, part: named, query }
  }
  return { view: 'unknown', query }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The address of a crawl's page: `crawlHref(id)`, `crawlHref(id, 'explain', { url })`. */
export function crawlHref(crawl: string, part: CrawlViewName = 'live', query: Readonly<Record<string, string>> = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `#/crawls/${encodeURIComponent(crawl)}${part === 'live' ? '' : `/${part}`}${search === '' ? '' : `?${search}`}`
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = () => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return routeOf(hash)
}

/** Writes the query of the present view into the address, without a step in the history. */
export function replaceQuery(query: Readonly<Record<string, string>>): void {
  const [place = '#/'] = location.hash.split('?')
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  history.replaceState(null, '', search === '' ? place : `${place}?${search}`)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}
