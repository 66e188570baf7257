import { ShoalError } from '../errors.js'
import type { WriteBatch } from '../store/rows.js'
import { failedVisit } from './failed-visit.js'
import { fetchRow } from './fetch-row.js'
import { fetchWanted, harvestTimed } from './fetch-wanted.js'
import { acceptLinks, doneWith, NO_LINKS } from './found-links.js'
import { rowsOf } from './harvest-page.js'
import { keepPage, withKeptPage, withScreenshot } from './keep-page.js'
import { busyOutcome, statusError } from './outcome.js'
import type { Fetching, Produced } from './produced.js'
import { bodyHash, visitRows } from './revisit.js'
import { aboutVisit, logFound, logSettled, step } from './trace-visit.js'
import { isSameBody, knownBy, unchangedPage } from './unchanged-page.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** READ THIS FIRST: the life of one leased URL. Produce (fetch and handle the page), write its records, settle its link, in this order. */

/** `onProduced`: the page is read and its handler has ended, only the commit is left. */
export function visit(current: Visit, parts: VisitParts, onProduced: () => void): Promise<void> {
  if (!parts.tracing) return visitLink(current, parts, onProduced)
  return parts.tracing.visit(aboutVisit(current, parts), (trace) => {
    current.trace = trace
    return visitLink(current, parts, onProduced)
  })
}

async function visitLink(current: Visit, parts: VisitParts, onProduced: () => void): Promise<void> {
  const read = await produce(current, parts)
  current.produced = true
  // Pages that wait to be kept take up memory: when they are too many, this one is kept before its slot is free for the next.
  if (parts.outbox.crowded) {
    parts.meter.doing(current, 'store')
    await read.kept?.catch(() => {})
  }
  onProduced()
  const produced = read.kept === null ? read : await withKeptPage(read, read.kept, current, parts)
  if (produced.batch !== null && !current.lost) await write(produced.batch, current, parts)
  const isSettled = !current.lost && (await settle(produced, current, parts))
  if (!isSettled) stale(current, parts)
}

/** Fetches and handles the page. Nothing leaves this process yet, except the raw page. */
async function produce(current: Visit, parts: VisitParts): Promise<Produced> {
  const { lease } = current
  const { spider, meter, outbox } = parts
  let fetching: Fetching | null = null
  try {
    const route = spider.routes.get(lease.link.route)
    if (route === undefined) throw new ShoalError('no_route', `the spider no longer has a route ${lease.link.route}`)
    if (spider.recrawl) meter.doing(current, 'store')
    const last = spider.recrawl ? await outbox.lastVisit(spider.name, lease.link.fp) : null
    const known = last === null ? null : await knownBy(last, current, parts)
    const wanted = await fetchWanted(current, parts, route, known)
    const { page } = wanted
    if (page.kind === 'busy') return { ...NOTHING, outcome: busyOutcome(page, lease.link) }
    const { response } = page
    const screenshot = response.rendered?.screenshot ?? null
    fetching = { row: fetchRow(current, parts, response), kept: null, screenshot }
    if (page.kind === 'moved') {
      const batch = { records: [], rejected: [], fetches: [fetching.row] }
      return { ...NOTHING, batch, outcome: { kind: 'done', links: [page.link], bytes: 0 } }
    }
    if (page.kind === 'unchanged') return unchangedPage(page.known, 'notModified', response, fetching, current, parts)
    const failed = statusError(response.status)
    if (failed !== null) throw failed
    // Before the handler runs: the page that it fails on is the one that somebody will want to see.
    fetching = keepPage(fetching, response, parts)
    const body = spider.recrawl ? bodyHash(response.body) : ''
    if (known !== null && isSameBody(known, body, response))
      return unchangedPage(known, 'sameBody', response, fetching, current, parts)
    const harvest = wanted.harvest ?? (await harvestTimed(current, parts, route, response))
    parts.matches.note(lease.crawl, route.declared, harvest, lease.link.url)
    // Fields are missing even from the rendered page: the screenshot shows why.
    const row = harvest.rejected.length > 0 ? await withScreenshot(fetching.row, screenshot, parts) : fetching.row
    const found = { links: harvest.links, base: response.url }
    const accepted = acceptLinks(found, lease, parts)
    const batch = {
      // With the time of the fetch: `reparse` makes the very same rows of the kept page.
      ...rowsOf(harvest, spider, lease, row.at),
      fetches: [row],
      ...(spider.recrawl && { visits: visitRows(last, body, harvest, response, row, lease, spider) }),
    }
    const outcome = doneWith(accepted, { bytes: row.bytes, counts: harvest.counts?.filter(({ count }) => count > 0) })
    return { kept: fetching.kept, batch, outcome, found, accepted }
  } catch (thrown) {
    return failedVisit(thrown, fetching, current, parts)
  }
}

const NOTHING = { kept: null, batch: null, found: null, accepted: NO_LINKS }

async function write(batch: WriteBatch, current: Visit, parts: VisitParts): Promise<void> {
  const { outbox, fields, log } = parts
  const { link, epoch } = current.lease
  const statuses = await step(
    current,
    () => outbox.write(batch),
    () => ({ name: 'store', about: { 'shoal.records': batch.records.length } }),
  )
  fields.note(batch)
  // A newer lease wrote the record first: that of another page with the same record, or of this link after ours was lost. The settle knows which.
  if (statuses.includes('fenced')) log.info('record.fenced', { fp: link.fp, url: link.url, epoch })
  if (log.verbose) log.debug('visit.written', { fp: link.fp, records: statuses, rejected: batch.rejected.length })
}

/** False: the lease was lost and nothing has changed. */
async function settle(produced: Produced, current: Visit, parts: VisitParts): Promise<boolean> {
  const { lease } = current
  const { outbox, meter, clock, log } = parts
  const { found } = produced
  let { outcome, accepted } = produced
  if (log.verbose && outcome.kind === 'done') logFound(lease, outcome.links, log)
  current.settling = true
  const latestOutcome = () => {
    // A queue that was restored from an older state lacks links it once had: those left out because it had them are sent after all.
    if (outcome.kind === 'done' && found !== null && accepted.doubts !== (parts.frontier.doubts ?? 0)) {
      accepted = acceptLinks(found, lease, parts)
      outcome = doneWith(accepted, outcome)
    }
    return outcome
  }
  const isSettled = await step(
    current,
    () => outbox.settle(lease, latestOutcome),
    () => ({ name: 'settle' }),
  )
  if (!isSettled) {
    meter.stale()
    return false
  }
  meter.settled(outcome, clock.mono() - current.grantedAt)
  // Only now: a link remembered before a refused settle would be lost for ever.
  if (outcome.kind === 'done') parts.known.add(accepted)
  current.trace?.ended({ outcome: outcome.kind, ...('failure' in outcome && { error: outcome.failure }) })
  if (log.verbose) logSettled(lease, outcome, log)
  return true
}

function stale({ lease, trace }: Visit, { log }: VisitParts): void {
  trace?.ended({ outcome: 'stale' })
  log.info('visit.stale', { fp: lease.link.fp, url: lease.link.url, epoch: lease.epoch })
}
