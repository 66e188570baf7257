import type { CDPSession, Dialog } from 'playwright-core'
import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'
import { keepScreenshot } from '../failure-screenshot.js'
import type { FetchRequest, FetchResponse, RenderWish } from '../fetcher.js'
import { declaredType } from '../media-type.js'
import type { Room } from './contexts.js'
import { changedCookies, cookiesOf, type GivenCookie, giveCookies } from './cookies.js'
import { HOP_BY_HOP, REFUSED_HEADER } from './guard-proxy.js'
import { navigationFailure } from './navigation-failure.js'
import { takeScreenshot } from './screenshot.js'
import { type Settling, settle, watchNetwork } from './settle.js'
import { newTraffic } from './traffic.js'

/** Limit for everything that a page loads in addition to its document, as a multiple of the limit for a document. */
const TRAFFIC_FACTOR = 5
/** A page that is ready to be closed unloads within this time. */
const LEAVE_MS = 1_000
/** Subrequests of one page; more are refused. The proxy counts as well: it sees shared workers and WebSockets, and not what is inside a TLS connection. */
const MOST_REQUESTS = 500

/**
 * One page in the browser. The request of its document is paused inside the browser until `send`, and no other document of the main frame is ever
 * requested: a redirect, by the server or by a script, is the response, so that each target passes the filter like any other URL.
 */
export interface Tab {
  readonly url: string
  /** Calls `onDispatch`, lets the request continue, and returns the page once it has settled. If `onDispatch` throws, the tab is unchanged. */
  send(request: FetchRequest): Promise<FetchResponse>
  /** Ends what is in flight with this error. */
  fail(error: ShoalError): void
  /** Closes the page. Fails if the page does not unload: its context cannot be reused. */
  close(): Promise<void>
}

interface Held {
  readonly requestId: string
  readonly headers: Readonly<Record<string, string>>
}

/** The parts of the browser's events that are used. */
interface Paused {
  readonly requestId: string
  readonly networkId?: string
  readonly frameId: string
  readonly resourceType: string
  readonly request: {
    readonly url: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
  }
  readonly responseStatusCode?: number
  readonly responseErrorReason?: string
  readonly responseHeaders?: readonly { readonly name: string; readonly value: string }[]
}

interface Challenged {
  readonly requestId: string
  readonly authChallenge: { readonly source?: string }
}

interface Finished {
  readonly requestId: string
  readonly encodedDataLength: number
}

interface Head {
  readonly status: number
  readonly headers: Record<string, string>
  readonly cookies: readonly string[]
}

export async function openTab(
  { context, way, page, session, mainFrame }: Room,
  first: FetchRequest,
  wish: RenderWish,
  clock: Clock,
): Promise<Tab> {
  const { url } = first
  const end = deferred<FetchResponse>()
  end.promise.catch(() => {})
  const fail = (error: ShoalError) => end.reject(error)
  const most = { bytes: first.limits.maxBodyBytes * TRAFFIC_FACTOR, requests: MOST_REQUESTS }
  const traffic = newTraffic(first, most, () =>
    fail(new ShoalError('too_large', `${url}: the page loads more than ${traffic.bytes} bytes`)),
  )
  way.serve(traffic)
  try {
    return await prepare()
  } catch (error) {
    way.serve(null)
    throw error
  }

  async function prepare(): Promise<Tab> {
    const network = watchNetwork(page, clock)
    const heldBack = deferred<Held>()
    const stopped = deferred<void>()
    let held: Held | null = null
    let sentAt = 0
    let head: Head | null = null
    let document: string | undefined
    let documentBytes = 0
    let asked = 0
    let requests = 0
    let bytes = 0
    let leadsOn = false
    let given: readonly GivenCookie[] = []
    const cookiesNow = async () => changedCookies(await context.cookies(), given, head?.cookies ?? [], url)

    const reply = (method: 'Fetch.continueRequest' | 'Fetch.failRequest', params: object) =>
      void session.send(method, params as never).catch(() => {})
    const abort = (requestId: string) => reply('Fetch.failRequest', { requestId, errorReason: 'Aborted' })

    const answer = (found: Head, body: Uint8Array, wireBytes: number, screenshot: Uint8Array | null = null) =>
      end.resolve({
        url,
        ...found,
        body,
        wireBytes,
        ms: clock.mono() - sentAt,
        rendered: { requests, bytes, screenshot },
      })

    const dismiss = (dialog: Dialog) => void dialog.dismiss().catch(() => {})
    // A script that leaves the page while it is parsed ends the parser. If the navigation leads nowhere (`mailto:`, the link of an app, a POST), the
    // browser shows what there is, and reports no DOMContentLoaded.
    const stoppedLoading = ({ frameId }: { readonly frameId: string }) => {
      if (frameId === mainFrame && head !== null) stopped.resolve()
    }
    const crashed = () => fail(new ShoalError('browser_crashed', `${url}: the page crashed the browser`))
    const countRequest = () => {
      if (++asked <= MOST_REQUESTS) return
      way.serve(null)
      traffic.cut()
    }
    const finished = ({ requestId, encodedDataLength }: Finished) => {
      if (requestId === document) documentBytes = encodedDataLength
      else if (encodedDataLength > 0) {
        // From the network, not from the browser's cache.
        requests++
        bytes += encodedDataLength
      }
    }
    const logIn = ({ requestId, authChallenge }: Challenged) => {
      const own = authChallenge.source === 'Proxy'
      const { username, password } = way
      const response = own
        ? { response: 'ProvideCredentials' as const, username, password }
        : { response: 'CancelAuth' as const }
      void session.send('Fetch.continueWithAuth', { requestId, authChallengeResponse: response }).catch(() => {})
    }
    const unseen = unseenTypes(wish)
    const judge = (paused: Paused) => {
      const { requestId, request, frameId, resourceType, responseStatusCode: status } = paused
      const answered = status !== undefined || paused.responseErrorReason !== undefined
      if (unseen.has(resourceType)) return reply('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
      if (resourceType !== 'Document' || frameId !== mainFrame) return reply('Fetch.continueRequest', { requestId })
      if (!answered) {
        // Navigations have one. Without it this is a download (`<a download>`): the page stays, and nothing is saved.
        if (paused.networkId === undefined) return abort(requestId)
        if (held === null) {
          held = { requestId, headers: request.headers }
          document = paused.networkId
          return heldBack.resolve(held)
        }
        if (request.method === 'GET') void handBack(request.url).finally(() => abort(requestId))
        else abort(requestId)
        return
      }
      // The navigation fails, with a more precise reason.
      if (status === undefined) return reply('Fetch.continueRequest', { requestId })
      void documentAnswered(requestId, readHead(status, paused.responseHeaders ?? [])).catch((error: unknown) =>
        fail(navigationFailure(url, String(error), traffic)),
      )
    }
    page.on('dialog', dismiss).on('crash', crashed).on('request', countRequest)
    session
      .on('Network.loadingFinished', finished)
      .on('Page.frameStoppedLoading', stoppedLoading)
      .on('Fetch.authRequired', logIn)
      .on('Fetch.requestPaused', judge)
    const stopListening = () => {
      network.stop()
      page.off('dialog', dismiss).off('crash', crashed).off('request', countRequest)
      session
        .off('Network.loadingFinished', finished)
        .off('Page.frameStoppedLoading', stoppedLoading)
        .off('Fetch.authRequired', logIn)
        .off('Fetch.requestPaused', judge)
    }

    /** A script, or a meta element, redirects: as if the server had. */
    async function handBack(target: string): Promise<void> {
      leadsOn = true
      // It may have set some before it redirected.
      const cookies = await cookiesNow().catch(() => head?.cookies ?? [])
      answer({ status: 302, headers: { location: target }, cookies }, EMPTY, documentBytes)
    }

    async function documentAnswered(requestId: string, found: Head): Promise<void> {
      head = found
      const { status, headers } = found
      if (headers[REFUSED_HEADER] !== undefined) {
        fail(navigationFailure(url, 'refused', traffic))
        return abort(requestId)
      }
      const rendered = isShown(found)
      const { maxBodyBytes } = first.limits
      if (Number(headers['content-length'] ?? 0) > maxBodyBytes) {
        fail(new ShoalError('too_large', `${url}: the body is larger than ${maxBodyBytes} bytes`))
        return abort(requestId)
      }
      if (rendered) return reply('Fetch.continueRequest', { requestId })
      const redirect = status >= 300 && status < 400
      const raw = redirect ? null : await session.send('Fetch.getResponseBody', { requestId })
      const body = raw === null ? EMPTY : Buffer.from(raw.body, raw.base64Encoded ? 'base64' : 'utf8')
      abort(requestId)
      if (body.length > maxBodyBytes)
        fail(new ShoalError('too_large', `${url}: the body is larger than ${maxBodyBytes} bytes`))
      else answer(found, body, body.length)
    }

    /** Waits for the page to settle and reads it, in parallel with the deadlines, which may come first. */
    async function read(settling: Settling): Promise<void> {
      await Promise.race([parsed, stopped.promise])
      await settle(page, network, settling, clock)
      const html = await outerHtml(session, mainFrame, first.limits.maxBodyBytes)
      const body = html === null ? null : Buffer.from(html, 'utf8')
      if (body === null || body.length > first.limits.maxBodyBytes)
        throw new ShoalError('too_large', `${url}: the rendered page is larger than ${first.limits.maxBodyBytes} bytes`)
      const cookies = await cookiesNow()
      const screenshot = await takeScreenshot(session, clock)
      const { status = 200, headers = {} } = head ?? {}
      // They describe the document as it was sent, not what scripts made of it.
      const { etag: _etag, 'last-modified': _modified, ...others } = headers
      const documentHeaders = { ...others, 'content-type': 'text/html; charset=utf-8' }
      if (!leadsOn) answer({ status, headers: documentHeaders, cookies }, body, documentBytes, screenshot)
    }

    // The context may have served another visit of the same visitor: scripts stay in its cache, cookies are the current ones.
    await session.send('Storage.clearDataForOrigin', { origin: new URL(url).origin, storageTypes: 'all' })
    await context.clearCookies()
    given = await giveCookies(context, cookiesOf(first.headers?.cookie ?? '', url))
    await session.send('Fetch.enable', { handleAuthRequests: true, patterns: STOPS })
    const parsed = page.goto(url, { waitUntil: 'domcontentloaded', timeout: 0 })
    parsed.catch((error: unknown) => heldBack.reject(navigationFailure(url, String(error), traffic)))
    const { requestId, headers } = await heldBack.promise

    return {
      url,
      async send(request) {
        request.onDispatch?.()
        sentAt = clock.mono()
        const { method = 'GET', body } = request
        reply('Fetch.continueRequest', {
          requestId,
          method,
          headers: headersFor(headers, request.headers ?? {}),
          ...(body === undefined ? {} : { postData: Buffer.from(body).toString('base64') }),
        })
        const cancel = clock.after(request.limits.headersMs, () => {
          if (head === null) fail(new ShoalError('timeout', `${url}: no headers within ${request.limits.headersMs} ms`))
        })
        void read(wish).catch((error: unknown) =>
          // A response that is not displayed also ends the navigation: whoever took it has a better error.
          fail(error instanceof ShoalError ? error : navigationFailure(url, String(error), traffic)),
        )
        try {
          return await end.promise
        } catch (error) {
          if (error instanceof ShoalError && head !== null) keepScreenshot(error, await takeScreenshot(session, clock))
          throw error
        } finally {
          cancel()
        }
      },
      fail(error) {
        fail(error)
        traffic.cut()
      },
      async close() {
        way.serve(null)
        await page.goto('about:blank', { timeout: LEAVE_MS })
        await session.send('Runtime.evaluate', { expression: 'window.name = ""' }).catch(() => {})
        await session.send('Page.resetNavigationHistory')
        stopListening()
      },
    }
  }
}

const EMPTY = new Uint8Array(0)

const RENDERED: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml'])

/** Whether a browser shows the response as a page. An attachment is not shown but saved: it is passed on as it came, like any other file. */
function isShown({ status, headers }: Head): boolean {
  if (status < 200 || status >= 300 || status === 204 || status === 205) return false
  const type = declaredType(headers['content-type'])
  return (type === null || RENDERED.has(type)) && !isAttachment(headers['content-disposition'])
}

/** Every type but `inline` is a download, even one that nobody knows (RFC 6266, 4.2). A parameter in its place (`filename=x`) is not a type. */
function isAttachment(disposition: string | undefined): boolean {
  const type = (disposition ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return type !== '' && type !== 'inline' && !type.includes('=')
}

/**
 * Documents are checked twice, before they are sent and when they respond. All other requests are stopped once as well, because Chromium asks only for
 * those what to do when the server wants a login (401). For others it opens a window that nobody sees, and a script or data never arrives.
 */
const STOPS = [
  { requestStage: 'Request' as const },
  { resourceType: 'Document' as const, requestStage: 'Response' as const },
]

/** Types of resources that are not requested: those that are only looked at, and the icon of the window (`Other`). */
function unseenTypes({ images }: RenderWish): ReadonlySet<string> {
  return new Set(images ? ['Other'] : ['Other', 'Image', 'Font', 'Media'])
}

/** The browser's own, overridden by those of the spider: for this document only, never for what it loads from elsewhere. */
function headersFor(
  browsers: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): { name: string; value: string }[] {
  const merged = new Map(Object.entries(browsers).map(([name, value]) => [name.toLowerCase(), value]))
  for (const [name, value] of Object.entries(own))
    if (name.toLowerCase() !== 'cookie') merged.set(name.toLowerCase(), value)
  return [...merged].map(([name, value]) => ({ name, value }))
}

function readHead(status: number, raw: readonly { name: string; value: string }[]): Head {
  const headers: Record<string, string> = Object.create(null)
  const cookies: string[] = []
  for (const { name, value } of raw) {
    const key = name.toLowerCase()
    if (HOP_BY_HOP.has(key)) continue
    if (key === 'set-cookie') cookies.push(...value.split('\n'))
    else headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`
  }
  return { status, headers, cookies }
}

/** In an isolated world, where the page's scripts cannot have changed the functions. Null: longer than `most` characters. */
async function outerHtml(session: CDPSession, frameId: string, most: number): Promise<string | null> {
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId })
  const { result } = await session.send('Runtime.evaluate', {
    contextId: executionContextId,
    returnByValue: true,
    expression: `(() => {
      const type = document.doctype === null ? '' : new XMLSerializer().serializeToString(document.doctype)
      const html = type + (document.documentElement === null ? '' : document.documentElement.outerHTML)
      return html.length > ${most} ? null : html
    })()`,
  })
  const { value } = result as { value?: unknown }
  return typeof value === 'string' ? value : null
}

interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
  reject(error: unknown): void
}

function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
