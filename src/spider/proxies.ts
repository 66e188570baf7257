import { spiderError } from '../error-place.js'
import type { Limits } from '../frontier/frontier.js'
import { namedText } from '../thrown.js'
import type { CheckedDefinition, CheckedPace, CheckedRoute } from './definition-schema.js'
import { DIRECT, type ProxyNeed, type SpiderProxies, type SpiderSession } from './spider.js'

/** Which proxies a route needs; null if no route of the spider uses a proxy: then the proxy ledger is not involved. */
export function proxyNeed(route: CheckedRoute, checked: CheckedDefinition): ProxyNeed | null {
  return takesProxies(checked) ? needOf(route, checked) : null
}

export function spiderProxies(
  checked: CheckedDefinition,
  limitsOf: (ceiling: CheckedPace) => Limits,
): SpiderProxies | null {
  if (!takesProxies(checked)) return null
  const { choose = 'cheapest', ceiling, banned } = checked.proxy ?? {}
  const needs = new Map<string, ProxyNeed>()
  for (const route of Object.values(checked.routes)) {
    const need = needOf(route, checked)
    needs.set(`${need.pool} ${need.country}`, need)
  }
  return {
    choose,
    ceiling: ceiling === undefined ? null : limitsOf(ceiling),
    banned: banned === undefined ? null : toldByName(banned),
    needs: [...needs.values()],
  }
}

/** The user's own code: what it throws is reported as such. */
function toldByName(banned: NonNullable<SpiderProxies['banned']>): NonNullable<SpiderProxies['banned']> {
  return (answer) => {
    try {
      return banned(answer)
    } catch (thrown) {
      throw spiderError('handler_error', thrown, `proxy.banned: ${namedText(thrown)}`)
    }
  }
}

export function spiderSession({ session }: CheckedDefinition): SpiderSession | null {
  if (session === undefined) return null
  const { cookies, requests = null, time: timeMs = null, userAgents = [], login = null } = session
  return { cookies, requests, timeMs, userAgents, login }
}

function takesProxies(checked: CheckedDefinition): boolean {
  return Object.values(checked.routes).some((route) => needOf(route, checked) !== DIRECT)
}

function needOf(route: CheckedRoute, checked: CheckedDefinition): ProxyNeed {
  const chosen = route.proxy ?? checked.proxy
  return chosen === undefined || chosen === false ? DIRECT : { pool: chosen.pool, country: chosen.country ?? null }
}
