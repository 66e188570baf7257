import { createClient, ErrorReply, RESP_TYPES } from '@redis/client'
import type { Clock } from '../../clock.js'
import type { Server } from './address.js'
import type { RedisReply } from './connection.js'
import { away } from './redis-errors.js'

/** One connection to one server. It dials when it is needed, and again after it was lost; it never sends a command twice. */
export interface Link {
  call(args: readonly (string | Buffer)[]): Promise<RedisReply>
  close(): void
}

interface LinkOptions {
  readonly dialTo: () => Promise<Server>
  readonly deadlineMs: number
  readonly clock: Clock
}

function makeClient(server: Server, deadlineMs: number) {
  return createClient({
    socket: { host: server.host, port: server.port, connectTimeout: deadlineMs, reconnectStrategy: false },
    ...(server.username === undefined ? {} : { username: server.username }),
    ...(server.password === undefined ? {} : { password: server.password }),
    database: server.database,
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    commandOptions: {
      typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
      timeout: 0,
    },
  })
}

type Client = ReturnType<typeof makeClient>

export function openLink({ dialTo, deadlineMs, clock }: LinkOptions): Link {
  let dialing: Promise<Client> | undefined
  let closed = false

  async function dial(): Promise<Client> {
    const client = makeClient(await dialTo(), deadlineMs)
    const lost = () => {
      dialing = undefined
    }
    client.on('error', lost)
    client.on('end', lost)
    try {
      await client.connect()
    } catch (error) {
      lost()
      client.destroy()
      throw error
    }
    return client
  }

  return {
    async call(args) {
      if (closed) throw away('the connection was closed')
      dialing ??= dial()
      const client = await dialing
      return await new Promise<RedisReply>((resolve, reject) => {
        const cancel = clock.after(deadlineMs, () => {
          reject(away(`no answer within ${deadlineMs} ms`))
          client.destroy()
        })
        client
          .sendCommand<RedisReply>([...args])
          .then(resolve, (error: unknown) => {
            reject(error instanceof ErrorReply ? error : away('the connection was lost', error))
          })
          .finally(cancel)
      })
    },
    close() {
      closed = true
      dialing?.then((client) => client.destroy()).catch(() => {})
    },
  }
}
