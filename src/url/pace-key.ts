import { siteOf } from './host.js'
import type { HostKey } from './link.js'
import { compilePattern, matchUrl } from './patterns.js'
import type { PaceRules } from './rules.js'
import type { UrlParts } from './url-parts.js'

/** The pace key of a URL whose host is known; `parsed` is called only if there are patterns. */
export type PaceKey = (host: HostKey, parsed: () => UrlParts) => HostKey

export function compilePaceKey({ per, groups }: PaceRules): PaceKey {
  const compiled = groups.map(({ name, match }) => ({ key: groupKey(name), patterns: match.map(compilePattern) }))
  const own = per === 'host' ? (host: HostKey) => host : siteOf
  if (groups.length === 0) return own
  return (host, parsed) => compiled.find(({ patterns }) => matchUrl(patterns, parsed()))?.key ?? own(host)
}

/** No host name contains an @. */
export function groupKey(name: string): HostKey {
  return `@${name}`
}

/** The same host through one of several proxies, each with its own pace. */
export function proxyKey(key: HostKey, proxy: string): HostKey {
  return `${key}|${proxy}`
}
