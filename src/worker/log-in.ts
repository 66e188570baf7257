import type { Clock } from '../clock.js'
import { spiderError } from '../error-place.js'
import { isShoalError, ShoalError } from '../errors.js'
import { decodeText } from '../fetch/charset.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import { Busy } from '../politeness/busy.js'
import type { Login, LoginAnswer } from '../spider/definition.js'
import { textOf } from '../thrown.js'
import type { RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { redirectTarget } from './redirects.js'
import type { Visit } from './visit-parts.js'
import { sleepUnlessStopped } from './waits.js'

const MOST_REDIRECTS = 10
const CHECK_MS = 100

/** `own`: it goes where the login sent it, not to another origin after a redirect. */
export type LoginSend = (url: URL, request: RequestExtras, own: boolean) => Promise<FetchResponse | Busy>

/** Busy as an error: a login is the user's own code, and visits that wait for the same session share its failure. */
export class LoginBusy extends Error {
  readonly busy: Busy
  constructor(busy: Busy) {
    super(`no slot is free for ${busy.waitMs} ms`)
    this.busy = busy
  }
}

type SendInTime = (url: URL, request: RequestExtras, own: boolean) => Promise<FetchResponse>

/** Runs the login of a spider, which makes its requests through `send`. Its own code has `timeoutMs` from one request to the next. */
export async function logIn(
  login: (login: Login) => Promise<void> | void,
  send: LoginSend,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const deadline = createDeadline(clock, timeoutMs)
  // Kept here because the user's code may throw something else instead.
  let trouble: unknown = null
  const sendInTime: SendInTime = (url, request, own) =>
    deadline.pausedFor(async () => {
      try {
        const answer = await send(url, request, own)
        if (answer instanceof Busy) throw new LoginBusy(answer)
        trouble = null
        return answer
      } catch (error) {
        if (isNoFault(error)) trouble = error
        throw error
      }
    })
  try {
    const ended = login({ fetch: (url, request = {}) => followed(url, request, sendInTime) })
    await Promise.race([ended, deadline.passed])
  } catch (error) {
    if (trouble !== null) throw trouble
    // One about a backend is not the login's own: it comes from another Shoal that it uses.
    if (isShoalError(error) && (error.next === 'retry' || error.next === 'dead')) throw error
    throw spiderError('login_failed', error, `the login failed: ${textOf(error)}`)
  } finally {
    deadline.end()
  }
}

/** Not the login's fault: the host has no slot, the proxy is refused or broken, a backend is down. */
function isNoFault(error: unknown): boolean {
  if (error instanceof LoginBusy) return true
  return error instanceof ShoalError && (error.next === 'backend' || error.next === 'throttle')
}

/** Many visits may wait for the same login. Each gives up on its own when it is stopped or its lease is lost. */
export async function unlessStopped(login: Promise<void>, current: Visit, clock: Clock): Promise<void> {
  let over = false
  const ended = login.finally(() => {
    over = true
  })
  const watch = async () => {
    while (!over) await sleepUnlessStopped(CHECK_MS, current, clock)
  }
  await Promise.race([ended, watch()])
}

/** The time counts only while no request is in flight: requests have deadlines of their own, and wait for their turn. */
function createDeadline(clock: Clock, ms: number) {
  let pauses = 0
  let over = false
  let fail: (error: ShoalError) => void = () => {}
  let cancel = () => {}
  const passed = new Promise<never>((_, reject) => {
    fail = reject
  })
  const run = () => {
    cancel = clock.after(ms, () => fail(new ShoalError('login_failed', `the login did nothing for ${ms} ms`)))
  }
  run()
  return {
    passed,
    async pausedFor<Result>(work: () => Promise<Result>): Promise<Result> {
      if (over) throw new ShoalError('aborted', 'the login has ended')
      pauses++
      cancel()
      try {
        return await work()
      } finally {
        pauses--
        if (pauses === 0 && !over) run()
      }
    },
    end() {
      over = true
      cancel()
    },
  }
}

async function followed(first: string, request: RequestExtras, send: SendInTime): Promise<LoginAnswer> {
  let url = parseUrl(first)
  let next = request
  let own = true
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new ShoalError('login_failed', 'the login asks for no URL')
    const response = await send(url, next, own)
    const { status, headers, body } = response
    const location = redirectTarget(response)
    const target = location === null ? null : parseUrl(location, url.href)
    if (target === null) return { url: url.href, status, headers, text: decodeText({ headers, body }).text }
    // As browsers do. What was meant for one origin is not sent to another.
    const keeps = status === 307 || status === 308
    const { headers: given, ...rest } = next
    const same = target.origin === url.origin
    next = { ...(keeps && same ? rest : {}), ...(given !== undefined && same ? { headers: given } : {}) }
    own &&= same
    url = target
  }
  throw new ShoalError('login_failed', `the login was redirected more than ${MOST_REDIRECTS} times`)
}
