import { ShoalError } from '../errors.js'
import { withoutTrailingDot } from './canonicalise.js'
import type { AdmitRules } from './rules.js'

/** Why a canonical URL is out of scope, as the end of a sentence; null when it is within. */
export type ScopeJudge = (text: string, url: URL) => string | null

export function compileScope(rules: Pick<AdmitRules, 'hosts' | 'allow' | 'deny'>): ScopeJudge {
  const isInside = rules.hosts.length === 0 ? null : compileHosts(rules.hosts)
  const allow = rules.allow.map(stateless)
  const deny = rules.deny.map(stateless)
  return (text, url) => {
    if (isInside !== null && !isInside(url)) return `host ${url.host} is not in scope.hosts`
    if (allow.length > 0 && !allow.some((pattern) => pattern.test(text))) return 'no pattern of scope.allow matches'
    const denied = deny.find((pattern) => pattern.test(text))
    return denied === undefined ? null : `scope.deny has ${denied}`
  }
}

/** With `g` or `y` a pattern would start where its last match ended. */
export function stateless(pattern: RegExp): RegExp {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
}

function compileHosts(entries: readonly string[]): (url: URL) => boolean {
  const names = new Set<string>()
  const suffixes: string[] = []
  for (const entry of entries) {
    const wild = entry.startsWith('*.')
    const name = parseEntry(entry, wild ? entry.slice(2) : entry)
    if (wild) suffixes.push(`.${name}`)
    else names.add(name)
  }
  return ({ hostname, port, protocol }) => {
    if (names.has(hostname)) return true
    const full = `${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`
    return names.has(full) || suffixes.some((suffix) => hostname.endsWith(suffix) || full.endsWith(suffix))
  }
}

const HOST_ENTRY = /^([^/?#@\\\s*]+?)(?::([0-9]{1,5}))?$/

/** In the spelling of a parsed URL: lower case, punycode, addresses in their plain form. */
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
