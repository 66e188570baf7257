import { ShoalError } from '../errors.js'
import { DEFAULT_DROP_PARAMS } from '../url/canonicalise.js'
import { parseUrl } from '../url/parse-url.js'
import { compilePattern, matchUrl, type UrlPattern } from '../url/patterns.js'
import type { AdmitRules, TrapRules } from '../url/rules.js'
import type { CheckedDefinition } from './definition-schema.js'

const NO_TRAPS: TrapRules = {
  maxSegments: Number.POSITIVE_INFINITY,
  maxRepeat: Number.POSITIVE_INFINITY,
  maxParams: Number.POSITIVE_INFINITY,
  sessionIds: false,
  calendars: false,
}

/** The rules of the filter, from the definition's scope and routes. */
export function admitRules(checked: CheckedDefinition): AdmitRules {
  const { scope } = checked
  const entries = Object.entries(checked.routes).map(([name, route]) => ({
    answer: { name, priority: route.priority },
    patterns: compilePatterns(`routes.${name}.match`, route.match),
  }))
  compilePatterns('scope.allow', scope.allow)
  compilePatterns('scope.deny', scope.deny)
  const { per, groups } = checked.pace
  groups.forEach(({ match }, index) => {
    compilePatterns(`pace.groups[${index}].match`, match)
  })
  const priorities = new Map(entries.map(({ answer }) => [answer.name, answer.priority]))
  return {
    hosts: hostsOf(checked),
    allow: scope.allow,
    deny: scope.deny,
    maxDepth: scope.maxDepth,
    maxUrlLength: scope.maxUrlLength,
    traps: scope.traps === false ? NO_TRAPS : scope.traps,
    canonical: {
      dropParams: [...DEFAULT_DROP_PARAMS, ...scope.canonical.dropParams],
      sortParams: scope.canonical.sortParams,
      trailingSlash: scope.canonical.trailingSlash,
      rewrite: scope.canonical.rewrite ?? null,
    },
    depthPriority: checked.depthPriority,
    pace: { per, groups },
    routeOf(url) {
      for (const entry of entries) if (matchUrl(entry.patterns, url)) return entry.answer
      return null
    },
    priorityOf: (route) => priorities.get(route) ?? null,
  }
}

/** Without scope.hosts a crawl stays on the hosts it starts from; any host must be requested explicitly with '*'. */
function hostsOf(checked: CheckedDefinition): string[] {
  const { hosts, subdomains } = checked.scope
  const named = hosts ?? checked.start.flatMap(hostOf)
  if (named.includes('*')) return []
  return subdomains ? named.flatMap((host) => (host.startsWith('*.') ? [host] : [host, `*.${host}`])) : named
}

/** Empty for a text that is not a URL, or for `file:///etc/passwd`: the filter reports what is wrong with those. */
function hostOf(url: string): string[] {
  const host = parseUrl(url)?.host ?? ''
  return host === '' ? [] : [host]
}

export function compilePatterns(path: string, patterns: readonly (string | RegExp)[]): UrlPattern[] {
  return patterns.map((pattern, index) => {
    try {
      return compilePattern(pattern)
    } catch (error) {
      if (!(error instanceof ShoalError)) throw error
      const place = patterns.length === 1 ? path : `${path}[${index}]`
      throw new ShoalError(error.code, `${place}: ${error.message.replace(/^match: /, '')}`, {
        hint: error.hint,
        cause: error,
      })
    }
  })
}
