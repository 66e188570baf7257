import { siteOf } from './host.js'
import type { HostKey } from './link.js'
import { compilePattern, matchUrl } from './patterns.js'
import type { PaceRules } from './rules.js'
import type { UrlParts } from './url-parts.js'

/** The pace key of a URL, whose host is at hand; `parsed` is asked only where patterns are. */
export type PaceKey = (host: HostKey, parsed: () => UrlParts) => HostKey

export function compilePaceKey({ per, groups }: PaceRules): PaceKey {
  const compiled = groups.map(({ name, match }) => ({ key: groupKey(name), patterns: match.map(compilePattern) }))
  const own = per === 'host' ? (host: HostKey) => host : siteOf
  if (groups.length === 0) return own
  return (host, parsed) => compiled.find(({ patterns }) => matchUrl(patterns, parsed()))?.key ?? own(host)
}

/** No host name has an @ in it. */
export function groupKey(name: string): HostKey {
  return `@${name}`
}

/** The same host through one way out of several, each with a pace of its own. */
export function proxyKey(key: HostKey, proxy: string): HostKey {
  return `${key}|${proxy}`
}
