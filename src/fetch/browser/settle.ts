import type { Page, Request } from 'playwright-core'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import type { RenderWish } from '../fetcher.js'

/** If nothing is in flight for this long, the page has loaded everything. */
const QUIET_MS = 500
const LOOK_MS = 50

export type Settling = Pick<RenderWish, 'wait' | 'settleMs'>

export interface Network {
  /** Since when nothing is in flight, on the monotonic clock; null: something is. */
  readonly quietSince: number | null
  stop(): void
}

export function watchNetwork(page: Page, clock: Clock): Network {
  const open = new Set<Request>()
  let quietSince = clock.mono()
  const begun = (request: Request) => void open.add(request)
  const ended = (request: Request) => {
    open.delete(request)
    quietSince = clock.mono()
  }
  page.on('request', begun).on('requestfinished', ended).on('requestfailed', ended)
  return {
    get quietSince() {
      return open.size === 0 ? quietSince : null
    },
    stop() {
      page.off('request', begun).off('requestfinished', ended).off('requestfailed', ended)
    },
  }
}

/**
 * When a page counts as ready. A selector must appear, or the page has failed; a time is waited for; otherwise the network must be quiet, and a page
 * that never is quiet is used as it is after `settleMs`.
 */
export async function settle(page: Page, network: Network, { wait, settleMs }: Settling, clock: Clock): Promise<void> {
  if (typeof wait === 'number') return clock.sleep(wait)
  if (wait !== null) {
    try {
      await page.waitForSelector(`css=${wait}`, { state: 'attached', timeout: settleMs })
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'TimeoutError') throw error
      throw new ShoalError('not_rendered', `${page.url()}: nothing matches '${wait}' after ${settleMs} ms`)
    }
    return
  }
  const giveUpAt = clock.mono() + settleMs
  while (clock.mono() < giveUpAt) {
    const { quietSince } = network
    if (quietSince !== null && clock.mono() - quietSince >= QUIET_MS) return
    await clock.sleep(LOOK_MS)
  }
}
