import { afterAll, beforeAll } from 'vitest'
import { openRedis, type RedisConnection } from '../../src/frontier/redis/connection.js'
import { redisLedger } from '../../src/proxy/redis/redis-ledger.js'
import { exitLedgerContract, type MakeLedger } from '../contract/exit-ledger-contract.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { exitLedgerProperties } from './ledger-properties.js'

let server: RedisServer
let connection: RedisConnection
let namespaces = 0

beforeAll(async () => {
  server = await startRedis()
  connection = await openRedis(server.url)
})
afterAll(async () => {
  await connection?.close()
  await server?.stop()
})

const onRedis: MakeLedger = async (clock) => ({
  ledger: redisLedger(connection, { namespace: `t${++namespaces}`, clock }),
  close: async () => {},
})

exitLedgerContract('redis', onRedis)
exitLedgerProperties('redis', onRedis, 40)
