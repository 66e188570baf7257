import { asShoalError, type ShoalError } from '../errors.js'
import { screenshotOf } from '../fetch/failure-screenshot.js'
import type { Lease } from '../frontier/frontier.js'
import { fetchRow } from './fetch-row.js'
import { NO_LINKS } from './found-links.js'
import { withScreenshot } from './keep-page.js'
import { NO_RETRIES, outcomeOf } from './outcome.js'
import type { Fetching, Produced } from './produced.js'
import { withoutSecrets } from './secrets.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** What becomes of a visit that threw. `fetching`: what it had got by then; null: no answer. */
export async function failedVisit(
  thrown: unknown,
  fetching: Fetching | null,
  current: Visit,
  parts: VisitParts,
): Promise<Produced> {
  const { lease } = current
  const { spider, clock, log } = parts
  const { fp, url, route } = lease.link
  const error = withoutSecrets(asShoalError(thrown), parts.secrets)
  const { code, message, place } = error
  const rules = { retries: spider.routes.get(route)?.retries ?? NO_RETRIES, maxThrottles: spider.maxThrottles }
  const outcome = outcomeOf(error, attemptsOf(error, lease), rules, parts.random, waitAskedBy(error, clock.now()))
  log[code === 'internal' ? 'error' : 'info'](code.startsWith('handler') ? 'handler.failed' : 'fetch.failed', {
    ...{ fp, url, route, code, message, attempt: lease.attempt, outcome: outcome.kind },
    ...(place !== null && { place }),
  })
  const failed = { ...(fetching?.row ?? fetchRow(current, parts, null)), error: code }
  const row = await withScreenshot(failed, screenshotOf(thrown) ?? fetching?.screenshot ?? null, parts)
  const isLogged = outcome.kind !== 'back' && current.started
  return {
    kept: fetching?.kept ?? null,
    batch: isLogged ? { records: [], rejected: [], fetches: [row] } : null,
    outcome,
    found: null,
    accepted: NO_LINKS,
  }
}

/**
 * What cannot be read is the robots.txt of the site, so its failures count for every link of it: after the last retry the others are not tried four times
 * each, at the pace of the host, for a site that is down.
 */
function attemptsOf({ code, cause }: ShoalError, lease: Lease): Pick<Lease, 'attempt' | 'throttles'> {
  if (code !== 'robots_unreachable') return lease
  const { failures = 0 } = (cause ?? {}) as { readonly failures?: number }
  return { attempt: Math.max(lease.attempt, failures), throttles: lease.throttles }
}

/** How long the failure itself asks to wait: an unreachable robots.txt, or proxies that rest. */
function waitAskedBy({ code, cause }: ShoalError, now: number): number {
  if (code !== 'robots_unreachable' && code !== 'proxies_resting') return 0
  const { retryAt, waitMs = 0 } = (cause ?? {}) as { readonly retryAt?: number; readonly waitMs?: number }
  return retryAt === undefined ? waitMs : Math.max(0, retryAt - now)
}
