import { execFileSync } from 'node:child_process'
import type { Place } from '../support/place.js'

/**
 * The network of a fleet of real hosts: one network namespace each, joined by a bridge in this machine's own namespace. Packets are
 * dropped in the bridge, as a broken network does it: neither side gets an error. This machine is on the bridge too, and its own packets
 * are not forwarded, so nothing that is done to the hosts is done to it: it sees the queue, the store and the site at all times.
 */
export interface HostSpec {
  readonly name: string
  readonly address: string
  /** Further addresses of the same host: sites have one for each of their names. */
  readonly more?: readonly string[]
}

/** Everything in the kernel that belongs to the fleet begins with this, so that it can be removed without a list. */
export const PREFIX = 'shf-'
const BRIDGE = `${PREFIX}switch`
const TABLE = 'shf'
const NETWORK = '10.177'
export const SITE_NETWORK = `${NETWORK}.1`
const CONTROL = `${NETWORK}.0.1`
/** Packets longer than this are lost in a black hole: a request of a few hundred bytes passes, a page of links does not. */
const BLACK_HOLE_BYTES = 600

export function fleetHosts(workers: number, siteHosts: number): FleetHosts {
  const addresses = Array.from({ length: siteHosts }, (_, index) => `${SITE_NETWORK}.${index + 1}`)
  return {
    queue: { name: 'queue', address: `${NETWORK}.0.2` },
    store: { name: 'store', address: `${NETWORK}.0.3` },
    site: { name: 'site', address: addresses[0] ?? '', more: addresses.slice(1) },
    workers: Array.from({ length: workers }, (_, index) => ({
      name: `worker-${index + 1}`,
      address: `${NETWORK}.2.${index + 1}`,
    })),
  }
}

export interface FleetHosts {
  readonly queue: HostSpec
  readonly store: HostSpec
  readonly site: HostSpec
  readonly workers: readonly HostSpec[]
}

/** The end of a link in rules: the site is all of its addresses. */
export function rangeOf({ address, more }: HostSpec): string {
  return more === undefined ? address : `${SITE_NETWORK}.0/24`
}

/** Sets of (from, to): what is in them does not pass. */
export type Loss =
  /** Nothing passes. */
  | 'cut'
  /** Connections are opened and closed, and not a byte arrives in between. */
  | 'mute'
  /** Small packets pass, and large ones disappear without the ICMP message that would say so. */
  | 'shrunk'

export const RULES = `table bridge ${TABLE} {
  set cut { type ipv4_addr . ipv4_addr; flags interval; }
  set mute { type ipv4_addr . ipv4_addr; flags interval; }
  set shrunk { type ipv4_addr . ipv4_addr; flags interval; }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ip saddr . ip daddr @cut drop
    ip saddr . ip daddr @mute tcp flags & (syn | fin | rst) == 0x0 drop
    ip saddr . ip daddr @shrunk ip length > ${BLACK_HOLE_BYTES} drop
  }
}
`

/** Each line is one call of `ip`. */
export function setUpCommands({ queue, store, site, workers }: FleetHosts): string[] {
  const lines = [`link add ${BRIDGE} type bridge`, `addr add ${CONTROL}/16 dev ${BRIDGE}`, `link set ${BRIDGE} up`]
  for (const { name, address, more = [] } of [queue, store, site, ...workers]) {
    const host = `${PREFIX}${name}`
    lines.push(
      `netns add ${host}`,
      `link add ${host} type veth peer name eth0 netns ${host}`,
      `link set ${host} master ${BRIDGE} up`,
      `-n ${host} link set lo up`,
      ...[address, ...more].map((one) => `-n ${host} addr add ${one}/16 dev eth0`),
      `-n ${host} link set eth0 up`,
    )
  }
  return lines
}

/** A name of its own for the host, because workers of one machine watch each other's processes. Each command replaces the one before. */
const ENTER = 'hostname "$0" && exec nsenter --net="/run/netns/$0" "$@"'

export function placeOf({ name, address }: HostSpec): Place {
  return { address, within: ['unshare', '--uts', 'sh', '-c', ENTER, `${PREFIX}${name}`] }
}

export class Network {
  readonly hosts: FleetHosts
  readonly #lost = new Map<Loss, Set<string>>()

  /** Removes what a killed run has left, and creates everything. */
  constructor(hosts: FleetHosts) {
    this.hosts = hosts
    removeAll()
    for (const line of setUpCommands(hosts)) ip(line)
    execFileSync('nft', ['-f', '-'], { input: RULES })
  }

  /** From now on packets of this direction are lost. */
  lose(loss: Loss, from: HostSpec, to: HostSpec): void {
    const pair = `${rangeOf(from)} . ${rangeOf(to)}`
    const lost = this.#lost.get(loss) ?? new Set()
    if (lost.has(pair)) return
    this.#lost.set(loss, lost.add(pair))
    nft('add', 'element', 'bridge', TABLE, loss, `{ ${pair} }`)
  }

  /** Both directions. */
  cut(one: HostSpec, others: readonly HostSpec[]): void {
    for (const other of others) {
      this.lose('cut', one, other)
      this.lose('cut', other, one)
    }
  }

  /** Every packet passes again; unplugged cables stay so. */
  heal(): void {
    for (const loss of this.#lost.keys()) nft('flush', 'set', 'bridge', TABLE, loss)
    this.#lost.clear()
  }

  unplug({ name }: HostSpec): void {
    ip(`link set ${PREFIX}${name} down`)
  }

  plug({ name }: HostSpec): void {
    ip(`link set ${PREFIX}${name} up`)
  }

  close(): void {
    removeAll()
  }
}

/** All of it, whoever created it; processes in a namespace of ours are ours. */
function removeAll(): void {
  for (const line of ip('netns list').split('\n')) {
    const [name = ''] = line.split(' ')
    if (!name.startsWith(PREFIX)) continue
    for (const pid of ip(`netns pids ${name}`).trim().split('\n')) if (pid !== '') endLeftover(Number(pid))
    ip(`netns del ${name}`)
  }
  for (const { ifname } of JSON.parse(ip('-j link show') || '[]') as { ifname: string }[])
    if (ifname.startsWith(PREFIX)) quietly(() => ip(`link del ${ifname}`))
  quietly(() => nft('delete', 'table', 'bridge', TABLE))
}

function endLeftover(pid: number): void {
  quietly(() => process.kill(pid, 'SIGKILL'))
}

/** What is not there any more need not be removed. */
function quietly(work: () => unknown): void {
  try {
    work()
  } catch {}
}

function ip(line: string): string {
  return execFileSync('ip', line.split(' '), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function nft(...args: string[]): void {
  execFileSync('nft', args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
