import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core'
import type { Clock } from '../../clock.js'
import type { FetchRequest } from '../fetcher.js'
import type { GuardProxy, Way } from './guard-proxy.js'

/** A context is used by one page at a time, and closed after this many pages or this time, so that leftovers of pages do not pile up. */
const MOST_PAGES = 50
const MOST_MS = 10 * 60_000
/** A context that does not close in this time belongs to a stuck browser. */
export const CLOSE_MS = 3_000

/**
 * A context with its connection to the guard proxy and its one page. Reused for the same visitor, so that scripts are loaded from the site once and
 * not for each page.
 */
export interface Room {
  readonly key: string
  readonly context: BrowserContext
  readonly way: Way
  /** A window costs ten times the CPU of a plain page, so it is reused as well. */
  readonly page: Page
  readonly session: CDPSession
  readonly mainFrame: string
  readonly openedAt: number
  pages: number
}

export interface Rooms {
  take(request: FetchRequest): Promise<Room>
  giveBack(room: Room): Promise<void>
  /** Something went wrong in it. */
  discard(room: Room): Promise<void>
}

export function createRooms(browser: Browser, proxy: GuardProxy, mostIdle: number, clock: Clock): Rooms {
  /** Least recently used first. */
  const idle: Room[] = []

  async function open(key: string, userAgent: string | undefined): Promise<Room> {
    const context = await browser.newContext({
      ...(userAgent === undefined ? {} : { userAgent }),
      acceptDownloads: false,
      serviceWorkers: 'block',
    })
    await context.addInitScript(NO_SIDE_DOORS)
    context.on('page', (page) => {
      void page.opener().then(
        (opener) => (opener === null ? undefined : page.close()),
        () => {},
      )
    })
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    const { frameTree } = await session.send('Page.getFrameTree')
    await session.send('Network.enable')
    await session.send('Page.enable')
    await session.send('Page.setPrerenderingAllowed', { isAllowed: false })
    const way = proxy.openWay()
    return { key, context, way, page, session, mainFrame: frameTree.frame.id, openedAt: clock.mono(), pages: 0 }
  }

  async function discard(room: Room): Promise<void> {
    room.way.close()
    await room.context.close()
  }

  return {
    async take(request) {
      const key = keyOf(request)
      const at = idle.findIndex((room) => room.key === key)
      const [found] = at === -1 ? [] : idle.splice(at, 1)
      return found ?? open(key, request.headers?.['user-agent'])
    },

    async giveBack(room) {
      room.pages++
      if (room.pages >= MOST_PAGES || clock.mono() - room.openedAt >= MOST_MS) return discard(room)
      idle.push(room)
      const oldest = idle.length > mostIdle ? idle.shift() : undefined
      if (oldest !== undefined) await discard(oldest)
    },

    discard,
  }
}

/**
 * Windows that nobody sees, pages prefetched for a reader that never comes, and network APIs that bypass a proxy. And the console: the browser hands each
 * line of it to this process, whole, and one of 500 MB took 1.7 GB here.
 */
const NO_SIDE_DOORS = `
  window.open = () => null
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete window[name]
  for (const name of Object.keys(console)) if (typeof console[name] === 'function') console[name] = () => {}
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes) if (node.type === 'speculationrules') node.remove()
  }).observe(document, { childList: true, subtree: true })
`

/** The proxy, the user agent and the visitor, or the cookies by which a site recognises one. */
export function keyOf({ headers, proxy, allowPrivate, render }: FetchRequest): string {
  const who = render?.visitor === undefined ? (headers?.cookie ?? '') : numberOf(render.visitor)
  return JSON.stringify([headers?.['user-agent'] ?? '', proxy ?? null, allowPrivate, who])
}

const visitors = new WeakMap<object, number>()
let lastVisitor = 0

function numberOf(visitor: object): number {
  const known = visitors.get(visitor)
  if (known !== undefined) return known
  visitors.set(visitor, ++lastVisitor)
  return lastVisitor
}
