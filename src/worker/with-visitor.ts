import type { FetchResponse } from '../fetch/fetcher.js'
import type { Busy } from '../politeness/busy.js'
import type { Session } from '../proxy/session.js'
import type { Login } from '../spider/definition.js'
import { hostIn, siteOf } from '../url/host.js'
import { againAfter } from './judge-answer.js'
import { Again, type Answer, type Held, type Layer, type Sending } from './layer.js'
import { LoginBusy, type LoginSend, logIn, unlessStopped } from './log-in.js'
import { NO_NEWS } from './outcome.js'
import { releaseSlots } from './permits.js'

/** Sends one request of a login: without a login of its own, whatever the state of its session. */
export type SendAs = (
  visitor: Session,
  sending: Sending,
  ...request: Parameters<LoginSend>
) => Promise<FetchResponse | Busy>

/** Who the site sees: a session with its cookies and user agent, logged in where the spider asks for it. robots.txt belongs to no session. */
export function withVisitor(next: Layer, sendAs: SendAs): Layer {
  return (sending, held) => {
    const { request, parts } = sending
    if (!parts.visitors || request.isRobots) return next(sending, held)
    const visitor = request.visitor ?? keptVisitor(held) ?? newVisitor(sending, held)
    const isReady = visitor === null || visitor.loggedIn || request.visitor !== undefined
    const login = isReady ? null : parts.spider.session?.login
    return visitor !== null && login
      ? logInFirst(visitor, login, sending, held, sendAs)
      : next(sending, { ...held, visitor })
  }
}

/** The one of the attempt before: its session may have ended since, while the login took its time. */
function keptVisitor({ visitor, lent }: Held): Session | null {
  return visitor !== null && (lent === null || visitor.proxy === lent.grant.proxy.id) ? visitor : null
}

function newVisitor({ parts: { visitors }, request }: Sending, { lent }: Held): Session | null {
  return visitors?.next(lent?.grant ?? null, siteOf(hostIn(request.url))) ?? null
}

async function logInFirst(
  visitor: Session,
  login: (login: Login) => Promise<void> | void,
  sending: Sending,
  held: Held,
  sendAs: SendAs,
): Promise<Answer> {
  const { current, parts } = sending
  const { handlerTimeoutMs = 0 } = parts.spider.routes.get(current.lease.link.route) ?? {}
  // The login asks for permits and a proxy of its own: it would wait for those that this request holds.
  held.lent?.end(null)
  releaseSlots(sending, held, { elapsedMs: 0 }, NO_NEWS)
  current.patient = true
  const send: LoginSend = (...request) => sendAs(visitor, sending, ...request)
  try {
    const loggedIn = visitor.logIn(() => logIn(login, send, parts.clock, handlerTimeoutMs))
    await unlessStopped(loggedIn, current, parts.clock)
  } catch (error) {
    return error instanceof LoginBusy ? error.busy : againAfter(error, sending, [])
  }
  return new Again('login', { permits: [], lent: null, visitor, stay: visitor.proxy })
}
