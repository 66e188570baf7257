import { ShoalError } from '../errors.js'
import { type HostPort, nameOf, type Server } from './address.js'
import { isAway, isReply, unreachable } from './redis-errors.js'
import { readRedirect, readSlots, type SlotRange, slotOf } from './slots.js'
import { openSocket, type RedisReply, type RedisSocket, type SocketOptions } from './socket.js'

/** Slots on the move answer with one redirection, at most two; more is a cluster that does not know itself. */
const MOST_REDIRECTS = 5

export interface Cluster {
  /** On the master that serves the slot of `key`; null: any master. */
  call(key: string | null, args: readonly (string | Buffer)[]): Promise<RedisReply>
  /** On this one node. */
  callNode(node: HostPort, args: readonly (string | Buffer)[]): Promise<RedisReply>
  masters(): readonly HostPort[]
  close(): void
}

export async function openCluster(
  seeds: readonly HostPort[],
  login: Omit<Server, keyof HostPort>,
  options: Omit<SocketOptions, 'target'>,
): Promise<Cluster> {
  const nodes = new Map<string, { readonly node: HostPort; readonly socket: RedisSocket }>()
  let ranges: readonly SlotRange[] = []
  /** The node that gave reason to doubt the map; it is asked last for a new one. */
  let doubted: HostPort | null = null
  let reading: Promise<void> | undefined

  function socketTo(node: HostPort): RedisSocket {
    const name = nameOf(node)
    const known = nodes.get(name)
    if (known !== undefined) return known.socket
    const socket = openSocket({ ...options, target: async () => ({ ...node, ...login }) })
    nodes.set(name, { node, socket })
    return socket
  }

  function masters(): HostPort[] {
    return [...new Map(ranges.map(({ master }) => [nameOf(master), master])).values()]
  }

  async function readMap(): Promise<void> {
    let last: unknown
    const known = [...masters(), ...seeds]
    const isDoubted = (node: HostPort) => doubted !== null && nameOf(node) === nameOf(doubted)
    for (const node of [...known.filter((node) => !isDoubted(node)), ...known.filter(isDoubted)]) {
      try {
        const found = readSlots(await socketTo(node).call(['CLUSTER', 'SLOTS']), node)
        if (found.length === 0) throw unreachable(`the cluster node ${nameOf(node)} knows no slots yet`)
        ranges = found
        doubted = null
        forgetOthers()
        return
      } catch (error) {
        if (isReply(error) && /cluster support disabled/.test(error.message)) throw notACluster(node)
        last = error
      }
    }
    throw last
  }

  function forgetOthers(): void {
    const wanted = new Set([...masters(), ...seeds].map(nameOf))
    for (const [name, { socket }] of nodes) {
      if (wanted.has(name)) continue
      nodes.delete(name)
      socket.close()
    }
  }

  async function refresh(): Promise<void> {
    reading ??= readMap().finally(() => {
      reading = undefined
    })
    await reading
  }

  function masterOf(key: string | null): HostPort {
    const slot = key === null ? ranges[0]?.first : slotOf(key)
    const range = ranges.find(({ first, last }) => slot !== undefined && first <= slot && slot <= last)
    if (range !== undefined) return range.master
    doubted = ranges[0]?.master ?? null
    throw unreachable('no master of the cluster serves this key')
  }

  async function call(key: string | null, args: readonly (string | Buffer)[]): Promise<RedisReply> {
    if (doubted !== null) await refresh()
    let node = masterOf(key)
    let before: readonly string[] | undefined
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      try {
        return await socketTo(node).call(args, before)
      } catch (error) {
        // A redirected call has not run: to repeat it is safe.
        const redirect = isReply(error) ? readRedirect(error.message, node) : null
        if (redirect === null) {
          if (isAway(error)) doubted = node
          throw error
        }
        if (!redirect.asking) doubted = node
        node = redirect.to
        before = redirect.asking ? ['ASKING'] : undefined
      }
    }
    throw unreachable('the nodes of the cluster redirect the call in a circle')
  }

  function close(): void {
    for (const { socket } of nodes.values()) socket.close()
  }

  try {
    await refresh()
  } catch (error) {
    close()
    throw error
  }
  return { call, callNode: (node, args) => socketTo(node).call(args), masters, close }
}

function notACluster(node: HostPort): ShoalError {
  return new ShoalError('queue_address', `Redis at ${nameOf(node)} is no node of a cluster.`, {
    hint: 'Write redis:// instead of redis+cluster://.',
  })
}
