import { asShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { BlobRef } from '../store/blob-store.js'
import { type FetchRow, SCREENSHOT_HEADER } from '../store/rows.js'
import { NO_LINKS } from './found-links.js'
import { NO_RETRIES, outcomeOf } from './outcome.js'
import type { Fetching, Produced } from './produced.js'
import type { Visit, VisitParts } from './visit-parts.js'

/** A screenshot is worth waiting for, but not for long. */
const SCREENSHOT_MS = 5_000

/** Starts to keep the raw page where the spider asks for that. Its headers go into the fetch row: with them the page can be read again. */
export function keepPage(fetching: Fetching, response: FetchResponse, { pages, outbox }: VisitParts): Fetching {
  if (pages === null) return fetching
  const { [SCREENSHOT_HEADER]: _forged, ...headers } = response.headers
  const kept = outbox.keep(pages, response.body, headers['content-type'] ?? '')
  return { ...fetching, kept, row: { ...fetching.row, headers } }
}

/**
 * The rows with the reference to the raw page. If it cannot be kept the worker stops, and this link goes back as it was: not a single page may be
 * done without its raw page.
 */
export async function withKeptPage(
  produced: Produced,
  kept: Promise<BlobRef>,
  { lease }: Visit,
  { spider, random }: VisitParts,
): Promise<Produced> {
  const { batch } = produced
  if (batch === null) return produced
  try {
    const page = await kept
    const fetches = batch.fetches.map((row) => ({ ...row, page }))
    const visits = batch.visits?.map((row) => ({ ...row, page }))
    return { ...produced, batch: { ...batch, fetches, ...(visits && { visits }) } }
  } catch (error) {
    const rules = { retries: NO_RETRIES, maxThrottles: spider.maxThrottles }
    const outcome = outcomeOf(asShoalError(error), lease, rules, random)
    return { kept, batch: null, outcome, found: null, accepted: NO_LINKS }
  }
}

/** What the browser showed when a visit went wrong, stored with the raw pages and named in the fetch row. */
export async function withScreenshot(
  row: FetchRow,
  screenshot: Uint8Array | null,
  { outbox, screenshots, clock }: VisitParts,
): Promise<FetchRow> {
  if (screenshot === null || screenshots === null) return row
  const kept = outbox.keep(screenshots, screenshot, 'image/jpeg').catch(() => null)
  const ref = await Promise.race([kept, clock.sleep(SCREENSHOT_MS).then(() => null)])
  return ref === null ? row : { ...row, headers: { ...row.headers, [SCREENSHOT_HEADER]: ref } }
}
