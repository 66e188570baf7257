import { ShoalError } from '../../errors.js'
import { type Address, type HostPort, nameOf, type Server } from './address.js'
import { type LinkOptions, openLink, type RedisReply } from './link.js'

type SentinelAddress = Extract<Address, { kind: 'sentinel' }>

/** Asks one sentinel after the other for the master of now. */
export async function findMaster(address: SentinelAddress, options: Omit<LinkOptions, 'target'>): Promise<Server> {
  const { servers, login, master } = address
  let last: unknown
  let known = false
  for (const sentinel of servers) {
    try {
      const found = await ask(sentinel, address, options)
      if (found !== null) return { ...found, ...login }
      known = true
    } catch (error) {
      last = error
    }
  }
  if (known) {
    throw new ShoalError('queue_address', `The sentinels know no master '${master}'.`, {
      hint: 'Check the name after the last slash: redis+sentinel://host:port/<master>.',
    })
  }
  const names = servers.map(nameOf).join(', ')
  const why = last instanceof Error ? last.message : String(last)
  throw new ShoalError('queue_unreachable', `No sentinel of ${names} answers. ${why}`)
}

async function ask(
  sentinel: HostPort,
  { login, master }: SentinelAddress,
  options: Omit<LinkOptions, 'target'>,
): Promise<HostPort | null> {
  const question = ['SENTINEL', 'get-master-addr-by-name', master]
  const askAs = async (credentials: Server['credentials']) => {
    const link = openLink({ ...options, target: async () => ({ ...sentinel, ...login, credentials, database: 0 }) })
    try {
      return readMaster(await link.call(question))
    } finally {
      link.close()
    }
  }
  try {
    return await askAs({})
  } catch (error) {
    // Sentinels may have no password while their servers have one, or the same.
    if (!(error instanceof ShoalError) || error.code !== 'queue_auth') throw error
    return await askAs(login.credentials)
  }
}

function readMaster(reply: RedisReply): HostPort | null {
  if (!Array.isArray(reply) || reply.length < 2) return null
  return { host: String(reply[0]), port: Number(reply[1]) }
}
