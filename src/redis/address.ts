import { ShoalError } from '../errors.js'

export interface HostPort {
  readonly host: string
  readonly port: number
}

interface Credentials {
  readonly username?: string
  readonly password?: string
}

interface Tls {
  /** File with the certificates that are trusted instead of the public ones. */
  readonly caFile?: string
  /** Name the certificate must bear when it is not the host's. */
  readonly servername?: string
}

/** Everything needed to dial one server. */
export interface Server extends HostPort {
  readonly credentials: Credentials
  readonly tls: Tls | null
  readonly database: number
}

/** `server` may turn out to be a node of a cluster. */
export type Address = {
  readonly servers: readonly [HostPort, ...HostPort[]]
  readonly login: Omit<Server, keyof HostPort>
} & ({ readonly kind: 'server' | 'cluster' } | { readonly kind: 'sentinel'; readonly master: string })

const SHAPE = /^(rediss?)(?:\+(cluster|sentinel))?:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/
const PORTS = { server: 6379, cluster: 6379, sentinel: 26379 }

/** Messages never repeat the address: it may hold a password. */
export function parseAddress(address: string): Address {
  const [, scheme, variant, authority = '', path = '', query = ''] = SHAPE.exec(address) ?? []
  if (scheme === undefined) throw bad('it is not of the form redis://host:port')
  const kind = variant === 'cluster' || variant === 'sentinel' ? variant : 'server'
  const at = authority.lastIndexOf('@')
  const servers = authority
    .slice(at + 1)
    .split(',')
    .map((text) => parseHost(text, PORTS[kind]))
  const [first, ...others] = servers
  if (first === undefined) throw bad('it names no host')
  if (kind === 'server' && others.length > 0) {
    throw bad('several hosts need redis+cluster:// or redis+sentinel://')
  }
  const parts = path.split('/').slice(1).map(decode)
  const master = kind === 'sentinel' ? parts.shift() : undefined
  const login = {
    credentials: at < 0 ? {} : parseCredentials(authority.slice(0, at)),
    tls: parseQuery(query, scheme === 'rediss'),
    database: parseDatabase(parts, kind),
  }
  if (kind !== 'sentinel') return { kind, servers: [first, ...others], login }
  if (master === undefined || master === '')
    throw bad('the name of the master is missing: redis+sentinel://host:port/master')
  return { kind, master, servers: [first, ...others], login }
}

function parseHost(text: string, defaultPort: number): HostPort {
  const [, ipv6, name, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = ipv6 ?? name
  if (host === undefined) throw bad('a host is missing or cannot be read')
  const number = port === undefined ? defaultPort : Number(port)
  if (number < 1 || number > 65535) throw bad('the port must be between 1 and 65535')
  return { host, port: number }
}

function parseCredentials(text: string): Credentials {
  const colon = text.indexOf(':')
  const username = decode(colon < 0 ? text : text.slice(0, colon))
  const password = colon < 0 ? '' : decode(text.slice(colon + 1))
  return { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) }
}

function parseDatabase(parts: readonly string[], kind: Address['kind']): number {
  const [text = '', ...rest] = parts
  if (rest.length > 0 || !/^\d{0,6}$/.test(text)) throw bad('the database must be a number: redis://host:port/2')
  const database = Number(text)
  if (kind === 'cluster' && database !== 0) throw bad('a Redis Cluster has only database 0')
  return database
}

function parseQuery(query: string, secure: boolean): Tls | null {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys()) {
    if (name !== 'ca' && name !== 'servername')
      throw bad(`it has an unknown parameter '${name}' (known: ca, servername)`)
    if (!secure) throw bad(`'${name}' is for rediss:// only`)
  }
  const caFile = parameters.get('ca')
  const servername = parameters.get('servername')
  if (!secure) return null
  return { ...(caFile === null ? {} : { caFile }), ...(servername === null ? {} : { servername }) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw bad('a % in it is not followed by two hexadecimal digits')
  }
}

function bad(why: string): ShoalError {
  return new ShoalError('queue_address', `The address of the Redis queue is wrong: ${why}.`)
}

export function nameOf({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
