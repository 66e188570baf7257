import type { Clock } from '../clock.js'
import { ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Login, LoginAnswer } from '../spider/definition.js'
import type { RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { HostBusy, sleepUnlessStopped } from './permits.js'
import type { Visit } from './visit-parts.js'

const MOST_REDIRECTS = 10
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const LOOK_MS = 100

/** `own`: it goes where the login sent it, not to another origin behind a redirect. */
export type LoginSend = (url: URL, request: RequestExtras, own: boolean) => Promise<FetchResponse>

/** Runs the login of a spider; every request of it goes out by `send`. Its own code has `timeoutMs` from one request to the next. */
export async function logIn(
  login: (login: Login) => Promise<void> | void,
  send: LoginSend,
  clock: Clock,
  timeoutMs: number,
): Promise<void> {
  const deadline = createDeadline(clock, timeoutMs)
  // Whatever the user's code makes of it.
  let trouble: unknown = null
  const sendInTime: LoginSend = (url, request, own) =>
    deadline.pausedFor(async () => {
      try {
        const response = await send(url, request, own)
        trouble = null
        return response
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
    if (error instanceof ShoalError) throw error
    throw new ShoalError(
      'login_failed',
      `the login failed: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    )
  } finally {
    deadline.end()
  }
}

/** Of the login: the host has no slot, the proxy is refused or broken, our backends is away. */
function isNoFault(error: unknown): boolean {
  if (error instanceof HostBusy) return true
  return error instanceof ShoalError && (error.next === 'backend' || error.next === 'throttle')
}

/** A login is waited for by many visits, and each gives up by itself when it is stopped or its lease is lost. */
export async function unlessStopped(login: Promise<void>, current: Visit, clock: Clock): Promise<void> {
  let over = false
  const ended = login.finally(() => {
    over = true
  })
  const watch = async () => {
    while (!over) await sleepUnlessStopped(LOOK_MS, current, clock)
  }
  await Promise.race([ended, watch()])
}

/** Runs while no request is under way: those have deadlines of their own, and wait for their turn. */
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

async function followed(first: string, request: RequestExtras, send: LoginSend): Promise<LoginAnswer> {
  let url = parseUrl(first)
  let next = request
  let own = true
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new ShoalError('login_failed', 'the login asks for no URL')
    const { status, headers, body } = await send(url, next, own)
    const target = REDIRECTS.has(status) ? parseUrl(headers.location ?? '', url.href) : null
    if (target === null || headers.location === undefined)
      return { url: url.href, status, headers, text: new TextDecoder().decode(body) }
    // As browsers do; and what was meant for one origin is not told to another.
    const keeps = status === 307 || status === 308
    const { headers: given, ...rest } = next
    const same = target.origin === url.origin
    next = { ...(keeps && same ? rest : {}), ...(given !== undefined && same ? { headers: given } : {}) }
    own &&= same
    url = target
  }
  throw new ShoalError('login_failed', `the login was redirected more than ${MOST_REDIRECTS} times`)
}
