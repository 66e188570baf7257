import { ShoalError } from '../errors.js'
import { type CanonicalUrl, withoutTrailingDot } from './canonicalise.js'
import { compilePattern, matchUrl } from './patterns.js'
import type { AdmitRules } from './rules.js'
import type { UrlParts } from './url-parts.js'

/** Why a canonical URL is out of scope, as the end of a sentence; null if it is in scope. `parsed` is called only if there are patterns. */
export type ScopeJudge = (url: CanonicalUrl, parsed: () => UrlParts) => string | null

export function compileScope(rules: Pick<AdmitRules, 'hosts' | 'allow' | 'deny'>): ScopeJudge {
  const isInside = rules.hosts.length === 0 ? null : compileHosts(rules.hosts)
  const allow = rules.allow.map(compilePattern)
  const deny = rules.deny.map((pattern) => ({ pattern, matches: compilePattern(pattern) }))
  return (url, parsed) => {
    if (isInside !== null && !isInside(url)) return `host ${url.host} is not in scope.hosts`
    if (allow.length > 0 && !matchUrl(allow, parsed())) return 'no pattern of scope.allow matches'
    const denied = deny.find(({ matches }) => matches(parsed()))
    return denied === undefined ? null : `pattern ${denied.pattern} of scope.deny matches`
  }
}

function compileHosts(entries: readonly string[]): (url: CanonicalUrl) => boolean {
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const entry of entries) {
    const wild = entry.startsWith('*.')
    const name = parseEntry(entry, wild ? entry.slice(2) : entry)
    if (wild) suffixes.push(`.${name}`)
    else names.add(name)
  }
  return ({ text, host }) => {
    if (names.has(host)) return true
    const port = PORT.exec(host)?.[0] ?? (text.startsWith('https:') ? ':443' : ':80')
    const name = host.replace(PORT, '')
    const full = name + port
    return (
      names.has(name) || names.has(full) || suffixes.some((suffix) => name.endsWith(suffix) || full.endsWith(suffix))
    )
  }
}

const PORT = /:[0-9]+$/
const HOST_ENTRY = /^(\[[0-9a-f:.]+\]|[^/?#@\\\s*:[\]]+)(?::([0-9]{1,5}))?$/i

/** Spelled as in a parsed URL: lower case, punycode, addresses in their plain form. */
function parseEntry(entry: string, text: string): string {
  const [, name, port] = HOST_ENTRY.exec(text) ?? []
  try {
    if (name === undefined) throw new TypeError('not a host')
    const { hostname } = new URL(`http://${name}/`)
    const host = withoutTrailingDot(hostname)
    return port === undefined ? host : `${host}:${Number(port)}`
  } catch (cause) {
    throw new ShoalError('spider_invalid', `scope.hosts: ${JSON.stringify(entry)} is not a host name`, {
      hint: "Write 'example.com', 'example.com:8080' or '*.example.com'.",
      cause,
    })
  }
}
