import { ShoalError } from '../../errors.js'
import type { ProxyServer } from '../../proxy/proxy.js'
import { isAllowed, judgeUrl } from '../guard.js'
import { basicLogin } from './connect-tunnel.js'

/** What must be equal, in addition to the origin, for a connection to be reused. */
interface Terms {
  readonly maxHeaderBytes: number
  readonly allowPrivate: readonly string[]
  readonly proxy: ProxyServer | undefined
}

/** An origin with its terms, as long as it has connections. */
export interface Origin<Connection> {
  /** 'https://host:port', as the URL standard writes it. */
  readonly name: string
  readonly guarded: boolean
  readonly terms: Terms
  /** Put before the path: a proxy without a tunnel needs the whole URL. Built from the origin, so it never contains a user name. */
  readonly prefix: string
  /** For a proxy without a tunnel. */
  readonly proxyHeaders: readonly string[]
  /** Idle connections; the most recently used is taken first, the others may expire and close. */
  readonly idle: Connection[]
  open: number
  /** It has sent something that nobody had asked for: its connections are not reused. */
  speaksUnasked: boolean
  /** To resume TLS. Not shared between proxies: it would show a site that two of them belong together. */
  tlsSession: Buffer | null
  readonly neighbours: Map<string, Origin<Connection>>
}

export interface Origins<Connection> {
  /** The origin of a URL. The guard checks it when it is created; afterwards finding it again is one map lookup. */
  placeOf(url: string, terms: Terms): { origin: Origin<Connection>; path: string }
}

export function createOrigins<Connection>(): Origins<Connection> {
  type World = Map<string, Origin<Connection>>
  /** Origins by the terms under which they were checked: another allow list needs another check. */
  const worlds = new Map<string, World>()
  let lastTerms: Terms | null = null
  let lastWorld: World = new Map()

  function worldOf(terms: Terms): World {
    if (lastTerms !== null && areSame(terms, lastTerms)) return lastWorld
    const { maxHeaderBytes, allowPrivate, proxy } = terms
    const key = JSON.stringify([maxHeaderBytes, allowPrivate, proxy === undefined ? null : keyOf(proxy)])
    let world = worlds.get(key)
    if (world === undefined) {
      for (const [other, origins] of worlds) if (origins.size === 0) worlds.delete(other)
      world = new Map()
      worlds.set(key, world)
    }
    lastTerms = terms
    lastWorld = world
    return world
  }

  function addOrigin(url: URL, terms: Terms, neighbours: World): Origin<Connection> {
    const { allowPrivate, proxy } = terms
    const refusal = judgeUrl(url, allowPrivate)
    if (refusal !== null) throw refusal
    const name = url.origin
    const known = neighbours.get(name)
    if (known !== undefined) return known
    const guarded = !isAllowed(url, allowPrivate)
    const whole = proxy !== undefined && proxy.protocol !== 'socks5' && url.protocol === 'http:'
    const login = whole ? basicLogin(proxy) : null
    const proxyHeaders = login === null ? [] : ['proxy-authorization', login]
    const prefix = whole ? name : ''
    const origin: Origin<Connection> = {
      name,
      guarded,
      terms,
      prefix,
      proxyHeaders,
      idle: [],
      open: 0,
      speaksUnasked: false,
      tlsSession: null,
      neighbours,
    }
    neighbours.set(name, origin)
    return origin
  }

  return {
    placeOf(url, terms) {
      const world = worldOf(terms)
      // In a canonical URL the first slash after 'https://' is the end of the origin. Anything else is not found and parsed.
      const slash = url.indexOf('/', 8)
      const known = slash === -1 ? undefined : world.get(url.slice(0, slash))
      if (known !== undefined && !url.includes('#')) return { origin: known, path: known.prefix + url.slice(slash) }
      const parsed = parse(url)
      const origin = addOrigin(parsed, terms, world)
      return { origin, path: origin.prefix + parsed.pathname + parsed.search }
    },
  }
}

/** Cheap, because it runs for every request: a spider and a pool pass the same objects again and again. */
function areSame(one: Terms, other: Terms): boolean {
  return (
    one.allowPrivate === other.allowPrivate && one.maxHeaderBytes === other.maxHeaderBytes && one.proxy === other.proxy
  )
}

function keyOf({ protocol, host, port, username, password }: ProxyServer): readonly unknown[] {
  return [protocol, host, port, username, password]
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch (cause) {
    throw new ShoalError('bad_url', 'it is not a URL', { cause })
  }
}
