import { ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Login, LoginAnswer } from '../spider/definition.js'
import type { RequestExtras } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'

const MOST_REDIRECTS = 10
const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Runs the login of a spider; every request of it goes out by `send`. */
export async function logIn(
  login: (login: Login) => Promise<void> | void,
  send: (url: URL, request: RequestExtras) => Promise<FetchResponse>,
): Promise<void> {
  try {
    await login({ fetch: (url, request = {}) => followed(url, request, send) })
  } catch (error) {
    // What stops the worker, or was told by our own plant, is no fault of the login.
    if (error instanceof ShoalError) throw error
    throw new ShoalError(
      'login_failed',
      `the login failed: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    )
  }
}

async function followed(
  first: string,
  request: RequestExtras,
  send: (url: URL, request: RequestExtras) => Promise<FetchResponse>,
): Promise<LoginAnswer> {
  let url = parseUrl(first)
  let next = request
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new ShoalError('login_failed', 'the login asks for no URL')
    const { status, headers, body } = await send(url, next)
    const target = REDIRECTS.has(status) ? parseUrl(headers.location ?? '', url.href) : null
    if (target === null || headers.location === undefined)
      return { url: url.href, status, headers, text: new TextDecoder().decode(body) }
    // As browsers do; and what was meant for one origin is not told to another.
    const keeps = status === 307 || status === 308
    const { headers: own, ...rest } = next
    const same = target.origin === url.origin
    next = { ...(keeps && same ? rest : {}), ...(own !== undefined && same ? { headers: own } : {}) }
    url = target
  }
  throw new ShoalError('login_failed', `the login was redirected more than ${MOST_REDIRECTS} times`)
}
