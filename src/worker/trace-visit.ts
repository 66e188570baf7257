import type { Lease, Outcome } from '../frontier/frontier.js'
import type { Log } from '../log.js'
import { traceUrl } from '../observe/tracing/trace-url.js'
import type { Attributes, TracedStep } from '../observe/tracing/tracing.js'
import type { Link } from '../url/link.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** What a visit reports to the log and to traces. */

/** One step of a visit, as a span of its own where visits are traced. */
export function step<Result>(
  { trace }: Pick<Visit, 'trace'>,
  work: () => Promise<Result>,
  traced: () => TracedStep<Result>,
): Promise<Result> {
  return trace === undefined ? work() : trace.step(traced(), work)
}

export function aboutVisit({ lease }: Visit, { spider, worker }: VisitParts): Attributes {
  const { fp, url, host, route, depth } = lease.link
  return {
    ...{ 'shoal.crawl': lease.crawl, 'shoal.spider': spider.name, 'shoal.fp': fp, 'shoal.route': route },
    ...{ 'shoal.depth': depth, 'shoal.attempt': lease.attempt, 'shoal.host': host, 'shoal.worker': worker },
    'url.full': traceUrl(url),
  }
}

export function logSettled({ link: { fp, url }, attempt }: Lease, outcome: Outcome, log: Log): void {
  const { kind } = outcome
  const why = 'failure' in outcome ? { code: outcome.failure.code } : {}
  const when = 'afterMs' in outcome ? { afterMs: outcome.afterMs } : {}
  log.debug('visit.settled', { fp, url, attempt, outcome: kind, ...why, ...when })
}

/** Before the settle: right after it another worker may lease them. */
export function logFound({ link }: Lease, links: readonly Link[], log: Log): void {
  for (const { fp, url, route, depth } of links) log.debug('link.found', { fp, url, route, depth, on: link.fp })
}
