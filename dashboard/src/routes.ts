/** Routes of the page: all after the #, so that no server ever sees them. */

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

const IN_ADDRESS = /^#token=([^&]+)(?:&to=(.*))?$/

/** The token that `shoal dashboard` puts into the address it prints, and where to go with it. */
export function tokenIn(hash: string): { readonly token: string; readonly route: string } | null {
  const [, found, to] = IN_ADDRESS.exec(hash) ?? []
  return found === undefined ? null : { token: decoded(found), route: `#${to?.startsWith('/') ? to : '/'}` }
}
