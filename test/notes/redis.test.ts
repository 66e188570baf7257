import { afterAll, beforeAll, expect, it } from 'vitest'
import { redisBoard } from '../../src/notes/redis/redis-notes.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { boardContract, type MakeBoard } from '../contract/notes-contract.js'
import { type RedisServer, redisCommand, startRedis } from '../support/redis-server.js'
import { boardProperties } from './properties.js'

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

const onRedis: MakeBoard = async (clock) => ({
  board: redisBoard(connection, { namespace: `t${++namespaces}`, clock }),
  close: async () => {},
})

boardContract('redis', onRedis)
boardProperties('redis', onRedis, 20)

it('lives by the time of the server, and lets it forget', async () => {
  const board = redisBoard(connection, { namespace: 'own' })
  expect(await board.claim('k', 'a', 60_000, 60_000)).toEqual({ kind: 'yours', old: null })
  expect(await redisCommand(server.port, 'KEYS', '{own.board*')).toEqual(['{own.board:k}'])
  expect(Number(await redisCommand(server.port, 'PTTL', '{own.board:k}'))).toBeGreaterThan(0)
  expect(await board.post('k', 'a', 'text', 120_000)).toBe(true)
  expect(Number(await redisCommand(server.port, 'PTTL', '{own.board:k}'))).toBeGreaterThan(60_000)
  expect(await board.claim('k', 'b', 60_000, 60_000)).toMatchObject({ kind: 'note', note: { text: 'text' } })
  expect(await board.post('gone', 'a', 'text', 0)).toBe(true)
  await board.claim('dropped', 'a', 60_000, 60_000)
  await board.drop('dropped', 'a')
  expect(await redisCommand(server.port, 'KEYS', '{own.board*')).toEqual(['{own.board:k}'])
})
