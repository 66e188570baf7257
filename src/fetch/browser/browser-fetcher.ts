import { lookup as systemLookup } from 'node:dns'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { parseUrl } from '../../url/parse-url.js'
import type { Fetcher, FetchRequest, FetchResponse, RenderWish, StopSignal } from '../fetcher.js'
import { judgeUrl, type Lookup } from '../guard.js'
import { type Chromium, startChromium } from './chromium.js'
import { CLOSE_MS, createRooms, keyOf, type Room, type Rooms } from './contexts.js'
import { type GuardProxy, startGuardProxy } from './guard-proxy.js'
import { openTab, type Tab } from './tab.js'

/** How often deadlines and signals are checked. */
const LOOK_MS = 100
/** From the request for a page to a tab that is ready to send. */
const OPEN_MS = 30_000
/** How long a visit waits for one of the few tabs; then its link goes back to the queue, where waiting costs nothing. */
const PATIENCE_MS = 20_000
/** A tab whose permit has expired is reserved for the same visit, which is asking for another one. */
const RESERVED_MS = 10_000
/** How long a failed page may take to be painted: its screenshot is kept with the failure. */
const LAST_LOOK_MS = 2_500
/** A browser without work is closed after this time. */
const IDLE_MS = 60_000

export interface BrowserFetcherOptions {
  readonly clock: Clock
  /** Name or path of the browser; null: the first one found. */
  readonly executable: string | null
  /** Maximum number of pages at once. */
  readonly maxPages: number
  readonly lookup?: Lookup
  /** Called at each start. */
  readonly onStart?: () => void
}

export const RENDER_DEFAULTS: RenderWish = { wait: null, settleMs: 10_000, images: false }

interface Running {
  readonly proxy: GuardProxy
  readonly chromium: Chromium
  readonly rooms: Rooms
}

interface OpenTab extends Tab {
  readonly cookie: string
  readonly room: Room
  readonly running: Running
}

/**
 * Pages rendered by Chromium: one browser, started by the first page that needs it. If it crashes or does not answer it is killed, its pages fail and
 * may be retried, and the next page starts another.
 */
export function createBrowserFetcher(options: BrowserFetcherOptions): Fetcher {
  const { clock, maxPages, lookup = resolveAll } = options
  let starting: Promise<Running> | null = null
  let current: Running | null = null
  let closed = false
  let busy = 0
  const waiting: (() => void)[] = []
  const tabs = new Set<OpenTab>()
  const reserved = new Map<StopSignal, { tab: OpenTab; cancel: () => void }>()
  let cancelIdle = () => {}

  function running(): Promise<Running> {
    starting ??= start().catch((error: unknown) => {
      starting = null
      throw error
    })
    return starting
  }

  async function start(): Promise<Running> {
    const proxy = await startGuardProxy(lookup, clock)
    try {
      const chromium = await startChromium(options.executable, proxy.address)
      const { browser } = chromium
      const now: Running = { proxy, chromium, rooms: createRooms(browser, proxy, maxPages, clock) }
      current = now
      browser.once('disconnected', () => {
        lost(now)
        void proxy.close()
      })
      options.onStart?.()
      return now
    } catch (error) {
      await proxy.close()
      throw error
    }
  }

  /** The browser is gone, or as good as gone. */
  function lost(gone: Running): void {
    if (current === gone) {
      current = null
      starting = null
    }
    for (const tab of tabs) {
      if (tab.running === gone) tab.fail(new ShoalError('browser_crashed', `${tab.url}: the browser crashed`))
    }
  }

  async function slot(signal: StopSignal): Promise<void> {
    if (busy < maxPages) {
      busy++
      return
    }
    // Passed on by the previous holder: `busy` does not change.
    let cancel = () => {}
    await new Promise<void>((resolve, reject) => {
      const giveUpAt = clock.mono() + PATIENCE_MS
      const next = () => {
        cancel()
        resolve()
      }
      const look = () => {
        const late = clock.mono() >= giveUpAt
        if (!signal.aborted && !late && !closed) {
          cancel = clock.after(LOOK_MS, look)
          return
        }
        waiting.splice(waiting.indexOf(next), 1)
        reject(late && !signal.aborted ? new ShoalError('browser_busy', 'no tab became free') : givenUp(signal))
      }
      waiting.push(next)
      cancel = clock.after(LOOK_MS, look)
    })
  }

  function freeSlot(): void {
    const next = waiting.shift()
    if (next === undefined) busy--
    else next()
    if (busy === 0) cancelIdle = clock.after(IDLE_MS, () => void end())
  }

  async function open(request: FetchRequest, wish: RenderWish): Promise<OpenTab> {
    cancelIdle()
    const now = await running()
    const room = await now.rooms.take(request)
    try {
      const tab = await openTab(room, request, wish, clock)
      return { ...tab, cookie: cookieOf(request), room, running: now }
    } catch (error) {
      await within(now.rooms.discard(room), now)
      throw error
    }
  }

  /** If it does not end within a moment, the browser is stuck. */
  async function within(work: Promise<unknown>, now: Running): Promise<void> {
    let cancel = () => {}
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(CLOSE_MS, () => {
        lost(now)
        now.chromium.kill()
        resolve()
      })
    })
    await Promise.race([work.catch(() => {}), late])
    cancel()
  }

  async function leave(tab: OpenTab, failed: boolean): Promise<void> {
    tabs.delete(tab)
    const { rooms } = tab.running
    const left = failed
      ? rooms.discard(tab.room)
      : tab.close().then(
          () => rooms.giveBack(tab.room),
          () => rooms.discard(tab.room),
        )
    await within(left, tab.running)
    freeSlot()
  }

  function reserve(signal: StopSignal, tab: OpenTab): void {
    const cancel = clock.after(RESERVED_MS, () => {
      if (reserved.delete(signal)) void leave(tab, false)
    })
    reserved.set(signal, { tab, cancel })
  }

  async function tabFor(request: FetchRequest, wish: RenderWish, signal: StopSignal): Promise<OpenTab> {
    const kept = reserved.get(signal)
    if (kept !== undefined) {
      reserved.delete(signal)
      kept.cancel()
      const { url, room, cookie } = kept.tab
      // The visit may come back with another proxy or session: the tab keeps what it was opened with.
      if (url === request.url && room.key === keyOf(request) && cookie === cookieOf(request)) return kept.tab
      await leave(kept.tab, false)
    }
    await slot(signal)
    const opening = open(request, wish)
    try {
      return await watched(
        opening,
        signal,
        OPEN_MS,
        () => new ShoalError('browser_crashed', 'the browser did not open a page'),
      )
    } catch (error) {
      // It may still succeed after the caller has stopped waiting.
      void opening.then(
        (tab) => leave(tab, true),
        () => freeSlot(),
      )
      if (error instanceof ShoalError && error.code === 'browser_crashed') giveUpBrowser()
      throw asFailure(error)
    }
  }

  /** A promise that is abandoned at a deadline or when the visit is. */
  async function watched<Value>(
    work: Promise<Value>,
    signal: StopSignal,
    ms: number,
    late: () => ShoalError,
  ): Promise<Value> {
    const giveUpAt = clock.mono() + ms
    let cancel = () => {}
    const over = new Promise<never>((_, reject) => {
      const look = () => {
        if (signal.aborted) reject(givenUp(signal))
        else if (clock.mono() >= giveUpAt) reject(late())
        else cancel = clock.after(LOOK_MS, look)
      }
      cancel = clock.after(LOOK_MS, look)
    })
    try {
      return await Promise.race([work, over])
    } finally {
      cancel()
    }
  }

  async function lastLook(work: Promise<unknown>): Promise<void> {
    let cancel = () => {}
    const late = new Promise<void>((resolve) => {
      cancel = clock.after(LAST_LOOK_MS, resolve)
    })
    await Promise.race([work.catch(() => {}), late])
    cancel()
  }

  function giveUpBrowser(): void {
    const stuck = current
    if (stuck === null) return
    lost(stuck)
    stuck.chromium.kill()
  }

  async function end(): Promise<void> {
    const ending = starting
    starting = null
    current = null
    const now = await ending?.catch(() => null)
    if (now === null || now === undefined) return
    await within(now.chromium.browser.close(), now)
    await now.proxy.close()
  }

  return {
    async fetch(request, signal) {
      if (closed) throw new ShoalError('aborted', 'the fetcher is closed')
      if (signal.aborted) throw givenUp(signal)
      const url = parseUrl(request.url)
      if (url === null) throw new ShoalError('bad_url', 'it is not a URL')
      const refusal = judgeUrl(url, request.allowPrivate)
      if (refusal !== null) throw refusal
      const tab = await tabFor(request, request.render ?? RENDER_DEFAULTS, signal)
      tabs.add(tab)
      let sent = false
      const onDispatch = () => {
        request.onDispatch?.()
        sent = true
      }
      const { totalMs } = request.limits
      const work = tab.send({ ...request, onDispatch })
      let response: FetchResponse
      try {
        response = await watched(work, signal, totalMs, () => {
          const late = new ShoalError('timeout', `${request.url}: no page within ${totalMs} ms`)
          tab.fail(late)
          return late
        })
      } catch (error) {
        if (!sent && !(error instanceof ShoalError)) {
          tabs.delete(tab)
          reserve(signal, tab)
          throw error
        }
        if (!signal.aborted && !closed) await lastLook(work)
        await leave(tab, true)
        throw error
      }
      await leave(tab, false)
      return response
    },

    async close() {
      closed = true
      cancelIdle()
      for (const [signal, { tab, cancel }] of reserved) {
        reserved.delete(signal)
        cancel()
        void leave(tab, true)
      }
      for (const tab of tabs) tab.fail(new ShoalError('aborted', 'the fetcher was closed'))
      await end()
    },
  }
}

/** Pages that need rendering go to `browser`, all others to `http`. */
export function withBrowser(http: Fetcher, browser: Fetcher): Fetcher {
  return {
    fetch: (request, signal) => (request.render === undefined ? http : browser).fetch(request, signal),
    async close() {
      await Promise.all([http.close(), browser.close()])
    },
  }
}

function cookieOf({ headers }: FetchRequest): string {
  return headers?.cookie ?? ''
}

function asFailure(error: unknown): ShoalError {
  if (error instanceof ShoalError) return error
  const said = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
  return new ShoalError('browser_crashed', `the browser: ${said}`, { cause: error })
}

function givenUp({ reason }: StopSignal): ShoalError {
  return reason instanceof ShoalError ? reason : new ShoalError('aborted', 'the fetch was aborted', { cause: reason })
}

const resolveAll: Lookup = (hostname, done) => systemLookup(hostname, { all: true }, done)
