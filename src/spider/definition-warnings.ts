import { parseUrl } from '../url/parse-url.js'
import type { Route, Spider } from './spider.js'

/** What a spider declares without effect: nothing that `run` would refuse, but hardly what its author meant. Each starts with the path of the option. */
export function definitionWarnings(spider: Spider): string[] {
  const reached = reachedRoutes(spider)
  const routes = [...spider.routes.values()]
  return [
    ...routes.flatMap((route) => {
      if (!reached.has(route.name)) return [unreached(spider, route)]
      return doesNothing(route)
        ? [`routes.${route.name}: does nothing with its pages: give it follow, record, pages or a handler`]
        : []
    }),
    ...unusedKinds(spider, routes).map((kind) => `records.${kind}: no route produces it`),
  ]
}

function doesNothing({ rules: { record, follow, pages, handler } }: Route): boolean {
  return record === null && follow.length === 0 && !pages && !handler
}

function unusedKinds({ records }: Spider, routes: readonly Route[]): string[] {
  if (routes.some(({ rules }) => rules.handler)) return []
  const used = new Set(routes.map(({ rules }) => rules.record?.kind))
  return [...records.keys()].filter((kind) => !used.has(kind))
}

/** Routes that a crawl can come to, from its start URLs by rules and handlers. In doubt, it can. */
function reachedRoutes(spider: Spider): ReadonlySet<string> {
  const byMatch = [...spider.routes.values()]
    .filter((route) => shadowOf(spider, route) === null)
    .map(({ name }) => name)
  const every = [...spider.routes.keys()]
  const reached = new Set<string>()
  const visit = (names: readonly (string | undefined)[]): void => {
    for (const name of names) {
      const route = name === undefined ? undefined : spider.routes.get(name)
      if (route === undefined || reached.has(route.name)) continue
      reached.add(route.name)
      visit(next(route))
    }
  }
  const next = ({ rules: { follow, pages, handler } }: Route): readonly (string | undefined)[] => {
    if (handler || pages) return every
    return follow.flatMap(({ route }) => (route === undefined ? byMatch : [route]))
  }
  if (spider.seeds !== null || spider.sources.length > 0 || spider.feed !== null) visit(every)
  visit(spider.start.map((url) => routeOf(spider, url)))
  return reached
}

function unreached(spider: Spider, route: Route): string {
  const shadow = shadowOf(spider, route)
  return shadow === null
    ? `routes.${route.name}: no start URL and no rule leads to it`
    : `routes.${route.name}.match: routes.${shadow} comes first and matches the same URLs`
}

/** The route before this one that takes all of its URLs; null: none does, or its patterns cannot be compared. */
function shadowOf(spider: Spider, { name, match }: Route): string | null {
  if (match.length === 0) return null
  let first: string | null = null
  for (const pattern of match) {
    const taker = pattern instanceof RegExp ? name : routeOf(spider, example(spider, pattern))
    if (taker === name || taker === undefined) return null
    first ??= taker
  }
  return first
}

/** A URL that matches a pattern, and another one only if that is at least as wide: no pattern is likely to contain this word. */
function example({ start, admit }: Spider, pattern: string): string {
  const path = pattern.replaceAll('**', `${WORD}/${WORD}`).replaceAll('*', WORD)
  if (/^https?:/i.test(path)) return path
  const origin = parseUrl(start[0] ?? '')?.origin ?? `https://${admit.hosts[0] ?? 'a.example'}`
  return origin + (path.startsWith('/') ? path : `/${path}`)
}

const WORD = 'qzxj'

function routeOf({ admit }: Spider, url: string): string | undefined {
  const parsed = parseUrl(url)
  return parsed === null ? undefined : admit.routeOf(parsed)?.name
}
