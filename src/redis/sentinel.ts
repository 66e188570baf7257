import { ShoalError } from '../errors.js'
import { type Address, type HostPort, nameOf, type Server } from './address.js'
import { openSocket, type RedisReply, type RedisSocket, type SocketOptions } from './socket.js'

type SentinelAddress = Extract<Address, { kind: 'sentinel' }>

type Options = Omit<SocketOptions, 'target'>

/** Asks all sentinels at once for the master of now; the first that knows it is believed. A host that is gone may have held both. */
export async function findMaster(address: SentinelAddress, options: Options): Promise<Server> {
  const { servers, login, master } = address
  const sockets = new Set<RedisSocket>()
  try {
    const found = await Promise.any(servers.map((sentinel) => ask(sentinel, address, options, sockets)))
    return { ...found, ...login }
  } catch (error) {
    const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error]
    const unknown = reasons.find((reason) => reason instanceof ShoalError && reason.code === 'queue_address')
    if (unknown !== undefined) throw unknown
    const [first] = reasons
    const why = first instanceof Error ? first.message : String(first)
    throw new ShoalError(
      'queue_unreachable',
      `No sentinel of ${servers.map(nameOf).join(', ')} leads to ${master}. ${why}`,
    )
  } finally {
    for (const socket of sockets) socket.close()
  }
}

async function ask(
  sentinel: HostPort,
  address: SentinelAddress,
  options: Options,
  sockets: Set<RedisSocket>,
): Promise<HostPort> {
  const { login, master } = address
  const askAs = async (credentials: Server['credentials']) => {
    const socket = openSocket({ ...options, target: async () => ({ ...sentinel, ...login, credentials, database: 0 }) })
    sockets.add(socket)
    return readMaster(await socket.call(['SENTINEL', 'get-master-addr-by-name', master]), master)
  }
  try {
    return await askAs({})
  } catch (error) {
    // Sentinels may have no password while their servers have one, or the same.
    if (!(error instanceof ShoalError) || error.code !== 'queue_auth') throw error
    return await askAs(login.credentials)
  }
}

function readMaster(reply: RedisReply, master: string): HostPort {
  if (Array.isArray(reply)) return { host: String(reply[0]), port: Number(reply[1]) }
  throw new ShoalError('queue_address', `The sentinels know no master '${master}'.`, {
    hint: 'Check the name after the last slash: redis+sentinel://host:port/<master>.',
  })
}
