import type { Clock, Random } from '../clock.js'
import { type Cookies, createCookies } from './cookies.js'
import type { Rotation } from './pool.js'
import type { ProxyId } from './proxy.js'

/** A visitor as a site sees it: a proxy with its cookies and its user agent, which come and go together. */
export interface Session {
  readonly proxy: ProxyId
  /** Null: the spider's own. */
  readonly userAgent: string | null
  /** Null: the spider keeps none. */
  readonly cookies: Cookies | null
  readonly loggedIn: boolean
  /**
   * Once for the session: whoever comes meanwhile waits for the same attempt. One that fails ends the session and is thrown to all who waited.
   * Must be called while holding no grant: the login asks for grants of the same proxy.
   */
  logIn(login: () => Promise<void>): Promise<void>
}

/** What a session is for: nothing passes from one spider, pool or site to another. */
interface SessionPlace {
  readonly spider: string
  readonly pool: string
  readonly site: string
}

export interface SessionRules {
  readonly rotation: Rotation
  readonly cookies: boolean
  /** One of them for each session; empty: the spider's own. */
  readonly userAgents: readonly string[]
}

/** The sessions of a worker thread. */
export interface Sessions {
  /** Proxies with a session that is not over yet: to be preferred, so that a site meets the same visitors for a while. */
  live(place: SessionPlace): ProxyId[]
  /** The session of this proxy for one more request; a new one when there is none or the old one is over. */
  use(place: SessionPlace, proxy: ProxyId, rules: SessionRules): Session
  /** The site refuses the proxy, or it does not work: the next visitor is another one. */
  end(place: SessionPlace, proxy: ProxyId): void
}

/** At most; the one that was used least lately goes first. */
const MOST_SESSIONS = 5_000

interface Held {
  readonly place: string
  readonly session: Session
  readonly endsAt: number
  left: number
}

export function createSessions(clock: Clock, random: Random, most = MOST_SESSIONS): Sessions {
  // In the order of their last use.
  const all = new Map<string, Held>()
  const byPlace = new Map<string, Set<ProxyId>>()

  const remove = (key: string) => {
    const held = all.get(key)
    if (held === undefined) return
    all.delete(key)
    const proxies = byPlace.get(held.place)
    proxies?.delete(held.session.proxy)
    if (proxies?.size === 0) byPlace.delete(held.place)
  }
  const isOver = ({ left, endsAt }: Held) => left <= 0 || clock.mono() >= endsAt

  return {
    live(place) {
      const name = nameOf(place)
      const proxies = [...(byPlace.get(name) ?? [])]
      return proxies.filter((proxy) => {
        const held = all.get(keyOf(name, proxy))
        return held !== undefined && !isOver(held)
      })
    },
    use(place, proxy, rules) {
      const name = nameOf(place)
      const key = keyOf(name, proxy)
      const old = all.get(key)
      const isNew = old === undefined || isOver(old)
      if (isNew) remove(key)
      const held = isNew ? begin(name, proxy, rules) : old
      held.left--
      // Last in the order, as the one used most lately.
      all.delete(key)
      all.set(key, held)
      if (isNew) {
        byPlace.set(name, (byPlace.get(name) ?? new Set()).add(proxy))
        const [oldest] = all.keys()
        if (all.size > most && oldest !== undefined) remove(oldest)
      }
      return held.session
    },
    end: (place, proxy) => remove(keyOf(nameOf(place), proxy)),
  }

  function begin(place: string, proxy: ProxyId, rules: SessionRules): Held {
    const { rotation, userAgents, cookies } = rules
    const agent = userAgents[Math.floor(random() * userAgents.length)] ?? null
    let login: Promise<void> | null = null
    let loggedIn = false
    const session: Session = {
      proxy,
      userAgent: agent,
      cookies: cookies ? createCookies(clock) : null,
      get loggedIn() {
        return loggedIn
      },
      logIn(attempt) {
        login ??= attempt().then(
          () => {
            loggedIn = true
          },
          (error: unknown) => {
            // Another one may have followed it already.
            const key = keyOf(place, proxy)
            if (all.get(key)?.session === session) remove(key)
            throw error
          },
        )
        return login
      },
    }
    return { place, session, left: rotation.requests, endsAt: clock.mono() + rotation.timeMs }
  }
}

function nameOf({ spider, pool, site }: SessionPlace): string {
  return `${spider} ${pool} ${site}`
}

function keyOf(place: string, proxy: ProxyId): string {
  return `${place} ${proxy}`
}
