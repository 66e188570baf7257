import { asShoalError, ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Lease, Outcome } from '../frontier/frontier.js'
import { createPage } from '../spider/page.js'
import type { Harvest, Route } from '../spider/spider.js'
import type { BlobRef, BlobStore } from '../store/blob-store.js'
import type { FetchRow, WriteBatch } from '../store/record-store.js'
import type { Target } from '../url/admit.js'
import { siteOf } from '../url/host.js'
import type { Link } from '../url/link.js'
import { fetchPage, HostBusy } from './fetch-page.js'
import { outcomeOf, statusError } from './outcome.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** READ THIS FIRST: the life of one leased URL, from the permit to the acknowledgement. */

/** `onProduced`: the page is read and its handler has ended, only the commit is to come. */
export async function visit(current: Visit, parts: VisitParts, onProduced: () => void): Promise<void> {
  const { lease } = current
  const { outbox, log } = parts
  const stamp = parts.known.serve(lease.crawl, lease.gen)

  const result = await produce(current, parts)
  onProduced()
  if (current.lost) return stale(current, parts)
  if (result.batch !== null) {
    const statuses = await outbox.write(result.batch)
    // A newer lease wrote the record first: another page that gives the same one, or our own link in other hands. The settle knows which.
    if (statuses.includes('fenced')) log.info('record.fenced', { url: lease.link.url, epoch: lease.epoch })
  }
  if (current.lost) return stale(current, parts)
  const accepted = await outbox.settle(lease, result.outcome)
  if (!accepted) return stale(current, parts)
  // Only now: a link remembered before a refused settle would be lost for ever.
  if (result.outcome.kind === 'done') parts.known.add(stamp, result.outcome.links, result.targets)
  if (log.verbose) log.debug('visit.settled', { fp: lease.link.fp, url: lease.link.url, outcome: result.outcome.kind })
}

function stale({ lease }: Visit, { log }: VisitParts): void {
  log.info('visit.stale', { fp: lease.link.fp, url: lease.link.url, epoch: lease.epoch })
}

interface Produced {
  /** What to commit before the settle; null when nothing was fetched. */
  readonly batch: WriteBatch | null
  readonly outcome: Outcome
  /** What the door said of the outcome's links, where it was asked. */
  readonly targets: readonly Target[]
}

async function produce(current: Visit, parts: VisitParts): Promise<Produced> {
  const { lease } = current
  const { link } = lease
  const { spider, clock } = parts
  let fetched: FetchRow | null = null
  const route = spider.routes.get(link.route)
  try {
    if (route === undefined) throw new ShoalError('no_route', `the spider has no route ${link.route} any more`)
    const page = await fetchPage(current, parts)
    fetched = fetchRow(current, parts, page.response)
    if (page.kind === 'moved') {
      return {
        batch: { records: [], rejected: [], fetches: [fetched] },
        outcome: { kind: 'done', links: [page.link], bytes: 0 },
        targets: [],
      }
    }
    const failed = statusError(page.response.status)
    if (failed !== null) throw failed
    if (parts.pages !== null) fetched = { ...fetched, page: await keepPage(parts.pages, page.response, parts) }
    const harvest = await harvestPage(route, current, page.response, parts)
    const { links, targets } = admitLinks(harvest, page.response.url, link.depth + 1, parts)
    return {
      batch: toBatch(harvest, lease, parts, fetched),
      outcome: { kind: 'done', links, bytes: fetched.bytes },
      targets,
    }
  } catch (thrown) {
    if (thrown instanceof HostBusy)
      return { batch: null, outcome: { kind: 'back', afterMs: thrown.waitMs }, targets: [] }
    const error = asShoalError(thrown)
    const waitMs = error.code === 'robots_unreachable' ? robotsWait(error) : 0
    const outcome = outcomeOf(
      error,
      lease,
      { retries: route?.retries ?? NO_RETRIES, maxThrottles: spider.maxThrottles },
      parts.random,
      waitMs,
    )
    parts.log[error.code === 'internal' ? 'error' : 'info'](
      error.code.startsWith('handler') ? 'handler.failed' : 'fetch.failed',
      {
        fp: link.fp,
        url: link.url,
        code: error.code,
        message: error.message,
        attempt: lease.attempt,
        outcome: outcome.kind,
      },
    )
    const row = { ...(fetched ?? emptyRow(current, parts)), error: error.code }
    return {
      batch: outcome.kind === 'back' || !current.started ? null : { records: [], rejected: [], fetches: [row] },
      outcome,
      targets: [],
    }
  }
  function robotsWait(error: ShoalError): number {
    const retryAt = (error.cause as { retryAt?: number } | undefined)?.retryAt
    return retryAt === undefined ? 0 : Math.max(0, retryAt - clock.now())
  }
}

/**
 * Before the handler: the page that it cannot read is the one that somebody will want to see. When it cannot be kept the worker ends, and
 * this link goes back as it was: not even one more page may be done without its raw page.
 */
async function keepPage(pages: BlobStore, { body, headers }: FetchResponse, { outbox }: VisitParts): Promise<BlobRef> {
  try {
    return await pages.put(body, headers['content-type'] ?? '')
  } catch (error) {
    outbox.fail(error)
    throw error
  }
}

const NO_RETRIES = { max: 0, backoff: { kind: 'fixed', ms: 0 } } as const

/** Runs the route's rules and handler; a handler that waits for ever is left behind at its deadline. */
export async function harvestPage(
  route: Route,
  { lease }: Visit,
  response: FetchResponse,
  { clock }: VisitParts,
): Promise<Harvest> {
  const page = createPage({
    url: response.url,
    requestedUrl: lease.link.url,
    status: response.status,
    headers: response.headers,
    body: response.body,
    route: route.name,
    depth: lease.link.depth,
    attempt: lease.attempt,
    data: lease.link.data,
  })
  const harvest = route.harvest(page)
  if (!(harvest instanceof Promise)) return harvest
  let cancel = () => {}
  const deadline = new Promise<never>((_, reject) => {
    cancel = clock.after(route.handlerTimeoutMs, () => {
      reject(
        new ShoalError(
          'handler_timeout',
          `the handler of route ${route.name} took longer than ${route.handlerTimeoutMs} ms`,
        ),
      )
    })
  })
  try {
    return await Promise.race([harvest, deadline])
  } finally {
    cancel()
  }
}

/** Found links that pass the door and are not known to be in the queue already, each once. */
function admitLinks(
  harvest: Harvest,
  base: string,
  depth: number,
  parts: VisitParts,
): { links: Link[]; targets: Target[] } {
  const { admitter, known, spider, log } = parts
  const links: Link[] = []
  const targets: Target[] = []
  const onPage = new Set<string>()
  let looked = 0
  for (const found of harvest.links) {
    if (++looked > spider.maxLinksPerPage) {
      log.warn('link.refused', {
        code: 'too_many_links',
        url: base,
        found: harvest.links.length,
        limit: spider.maxLinksPerPage,
      })
      break
    }
    const admission = admitter.resolve(found.href, base, found)
    if (!admission.ok) {
      if (log.verbose) log.debug('link.refused', { href: found.href.slice(0, 200), code: admission.refusal.code })
      continue
    }
    const { target } = admission
    if (known.has(target) || onPage.has(target.fp)) continue
    onPage.add(target.fp)
    const link = admitter.link(target, depth, found)
    if ('code' in link) log.debug('link.refused', { href: found.href.slice(0, 200), code: link.code })
    else {
      links.push(link)
      targets.push(target)
    }
  }
  return { links, targets }
}

function toBatch(harvest: Harvest, lease: Lease, { spider, clock }: VisitParts, fetched: FetchRow): WriteBatch {
  const { link } = lease
  const site = siteOf(link.host)
  const scrapedAt = clock.now()
  const shared = { spider: spider.name, crawl: lease.crawl, site, url: link.url, scrapedAt }
  return {
    records: harvest.records.map(({ kind, key, data }) => ({
      ...shared,
      kind,
      key,
      data,
      gen: lease.gen,
      epoch: lease.epoch,
      freshMs: lease.bypassFresh ? 0 : (spider.records.get(kind)?.freshMs ?? 0),
    })),
    rejected: harvest.rejected.map(({ kind, key, data, issues }) => ({ ...shared, kind, key, data, issues })),
    fetches: [fetched],
  }
}

function fetchRow(current: Visit, parts: VisitParts, response: FetchResponse): FetchRow {
  return {
    ...emptyRow(current, parts),
    url: response.url,
    status: response.status,
    bytes: response.wireBytes,
    ms: response.ms,
  }
}

function emptyRow({ lease }: Visit, { worker, clock }: VisitParts): FetchRow {
  const { fp, url, host } = lease.link
  return {
    crawl: lease.crawl,
    fp,
    url,
    host,
    status: 0,
    bytes: 0,
    ms: 0,
    attempt: lease.attempt,
    worker,
    error: null,
    page: null,
    at: clock.now(),
  }
}
