import type { Profile } from './profile.js'
import type { SimulationResult } from './result.js'
import type { Limit } from './series.js'

/** What would make the crawl end earlier, in one or two sentences. */

const LIMIT_TEXT: Readonly<Record<Limit, string>> = {
  host_pace: 'the pace of hosts',
  hosts: 'slow hosts',
  proxies: 'proxies',
  queue: 'the queue',
  cpu: 'CPU',
  workers: 'workers',
  links: 'links not found yet',
  retries: 'waiting for retries',
  none: 'nothing',
}

export function limitText(limit: Limit): string {
  return LIMIT_TEXT[limit]
}

/** A tail that takes this share of the whole is worth a word. */
const LONG_TAIL = 0.3

export function adviceFor(profile: Profile, result: SimulationResult): string {
  const { workers, limits, doneAt, endMs, lastHosts } = result
  const used = profile.workers
  const [first] = limits.filter(({ limit }) => limit !== 'none')
  const [last] = lastHosts
  const tail =
    endMs - doneAt.p95 > endMs * LONG_TAIL && last !== undefined
      ? ` The last 5 % wait for a few hosts: a page budget per host (budget.pagesPerHost) would end it earlier.`
      : ''
  if (first === undefined) return `Nothing holds it up.${tail}`
  switch (first.limit) {
    case 'workers':
    case 'cpu':
      return `More workers would help, up to about ${Math.max(workers.needed, Math.ceil(used) + 1)}.${tail}`
    case 'proxies':
      return `More proxies would help; adding workers won't.${tail}`
    case 'queue':
      return `The queue's server is full: adding workers won't help. Use a faster one, or a Redis cluster.${tail}`
    case 'links':
      return `Few links are known at a time: more start URLs (a sitemap) would help; adding workers won't.${tail}`
    case 'retries':
      return `It waits for retries: fewer of them, or a shorter backoff, would end it earlier.${tail}`
    default: {
      const fewer = used > workers.needed ? ` ${workers.needed} instead of ${Math.round(used)} would do.` : ''
      return `Hosts are the limit: adding workers won't help.${fewer}${tail}`
    }
  }
}
