import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { ShoalError } from '../errors.js'

/**
 * Which addresses may be connected to. Three checks, all of them necessary: literals are checked here because net.connect never calls `lookup` for
 * them; names are checked inside `lookup`, for every connection, so that the socket goes to the very address that was checked; ports are checked
 * before both.
 */

/** Ports that no web site uses: the WHATWG list of bad ports, then databases, queues and consoles. */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109],
  ...[110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530],
  ...[531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190],
  ...[5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
  ...[445, 1433, 1521, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5672, 5900, 5984, 6379, 6380, 6432],
  ...[9042, 9092, 9200, 9300, 10250, 11211, 26379, 27017, 27018, 27019],
])

type Range4 = readonly [base: number, bits: number, what: string]

const RANGES_4: readonly Range4[] = [
  range4('0.0.0.0', 8, 'this network'),
  range4('10.0.0.0', 8, 'private'),
  range4('100.64.0.0', 10, 'carrier-grade NAT'),
  range4('127.0.0.0', 8, 'loopback'),
  range4('169.254.0.0', 16, 'link-local'),
  range4('172.16.0.0', 12, 'private'),
  range4('192.0.0.0', 24, 'reserved'),
  range4('192.0.2.0', 24, 'documentation'),
  range4('192.88.99.0', 24, '6to4 relay'),
  range4('192.168.0.0', 16, 'private'),
  range4('198.18.0.0', 15, 'benchmarking'),
  range4('198.51.100.0', 24, 'documentation'),
  range4('203.0.113.0', 24, 'documentation'),
  range4('224.0.0.0', 4, 'multicast'),
  range4('240.0.0.0', 4, 'reserved'),
]

function range4(base: string, bits: number, what: string): Range4 {
  return [number4(base) >>> (32 - bits), bits, what]
}

function number4(ip: string): number {
  return ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

/** Why an address must not be connected to, or null if it is public. Accepts what `net.isIP` accepts. */
export function judgeAddress(ip: string): string | null {
  const kind = isIP(ip)
  if (kind === 4) return judge4(number4(ip))
  if (kind === 6) return judge6(groups6(ip))
  return 'not an address'
}

function judge4(address: number): string | null {
  for (const [base, bits, what] of RANGES_4) {
    if (address >>> (32 - bits) === base) return what
  }
  return null
}

/** Only global unicast (2000::/3) is public, and not all of it; an address with an IPv4 address inside is checked by that one. */
function judge6(groups: readonly number[]): string | null {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const embedded = g * 65536 + h
  const zeroUpTo5 = a === 0 && b === 0 && c === 0 && d === 0 && e === 0
  if (zeroUpTo5 && f === 0xffff) return judge4(embedded)
  if (zeroUpTo5 && f === 0) return embedded <= 1 ? 'loopback or unspecified' : 'IPv4-compatible'
  // DNS64 networks reach every IPv4 site through this prefix, so the address inside decides.
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return judge4(embedded)
  if (a === 0x64 && b === 0xff9b) return 'local NAT64'
  if ((a & 0xfe00) === 0xfc00) return 'unique local'
  if ((a & 0xffc0) === 0xfe80) return 'link-local'
  if ((a & 0xff00) === 0xff00) return 'multicast'
  if ((a & 0xe000) !== 0x2000) return 'reserved'
  if (a === 0x2001 && b === 0) return 'Teredo'
  if (a === 0x2001 && b < 0x200) return 'reserved'
  if (a === 0x2001 && b === 0xdb8) return 'documentation'
  if (a === 0x2002) return '6to4'
  if (a === 0x3fff && b < 0x1000) return 'documentation'
  return null
}

/** The eight numbers of an IPv6 address. */
export function groups6(ip: string): number[] {
  const bare = ip.split('%', 1)[0] ?? ip
  const [head = '', tail] = bare.split('::', 2)
  const before = half6(head)
  if (tail === undefined) return before
  const after = half6(tail)
  return [...before, ...new Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after]
}

function half6(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const inner = number4(part)
    return [Math.floor(inner / 65536), inner % 65536]
  })
}

/** The spider's allow list: 'host:port' or 'host:*', the host as in the URL. */
export function isAllowed(url: URL, allowPrivate: readonly string[]): boolean {
  if (allowPrivate.length === 0) return false
  const exact = `${url.hostname}:${portOf(url)}`
  const anyPort = `${url.hostname}:*`
  return allowPrivate.some((entry) => {
    const wanted = entry.toLowerCase()
    return wanted === exact || wanted === anyPort
  })
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** What can be checked before any connection: the port and a literal host. Names are checked when they are resolved. */
export function judgeUrl(url: URL, allowPrivate: readonly string[]): ShoalError | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return new ShoalError('bad_scheme', `${url.protocol} cannot be fetched`)
  }
  if (isAllowed(url, allowPrivate)) return null
  const port = portOf(url)
  if (BLOCKED_PORTS.has(port)) return new ShoalError('blocked_port', `port ${port} of ${url.hostname} is never fetched`)
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  if (isIP(host) !== 0) {
    const reason = judgeAddress(host)
    return reason === null ? null : new ShoalError('private_address', `${host} is ${reason}`)
  }
  if (/(^|\.)localhost\.?$/.test(host)) return new ShoalError('private_address', `${host} is loopback`)
  return null
}

/** The resolver as Shoal uses it: all addresses of a name. */
export type Lookup = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void

/**
 * A `lookup` for net.connect. Guarded, it refuses the whole response if one of its addresses is not public: a mixed response is how a private address
 * gets past a check of only the first one.
 */
export function lookupForConnect(lookup: Lookup, guarded: boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, (error, addresses) => {
      const refusal = error === null ? refuse(hostname, addresses, guarded) : dnsFailure(hostname, error)
      const first = addresses?.[0]
      if (refusal !== null || first === undefined) return callback(refusal as NodeJS.ErrnoException | null, [])
      if (options.all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  }
}

function refuse(hostname: string, addresses: readonly LookupAddress[], guarded: boolean): ShoalError | null {
  if (addresses.length === 0) return new ShoalError('dns_error', `${hostname} has no address`)
  if (!guarded) return null
  for (const { address } of addresses) {
    const reason = judgeAddress(address)
    if (reason !== null)
      return new ShoalError('private_address', `${hostname} resolves to ${address}, which is ${reason}`)
  }
  return null
}

function dnsFailure(hostname: string, error: NodeJS.ErrnoException): ShoalError {
  const missing = error.code === 'ENOTFOUND' || error.code === 'ENODATA'
  return new ShoalError(missing ? 'dns_not_found' : 'dns_error', `${hostname}: ${error.code ?? error.message}`, {
    cause: error,
  })
}
