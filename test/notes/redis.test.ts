import { afterAll, beforeAll, expect, it } from 'vitest'
import { redisNotes } from '../../src/notes/redis/redis-notes.js'
import { openRedis, type RedisConnection } from '../../src/redis/connection.js'
import { type MakeNotes, notesContract } from '../contract/notes-contract.js'
import { type RedisServer, redisCommand, startRedis } from '../support/redis-server.js'
import { notesProperties } from './properties.js'

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

const onRedis: MakeNotes = async (clock) => ({
  notes: redisNotes(connection, { namespace: `t${++namespaces}`, clock }),
  close: async () => {},
})

notesContract('redis', onRedis)
notesProperties('redis', onRedis, 20)

it('lives by the time of the server, and lets it forget', async () => {
  const notes = redisNotes(connection, { namespace: 'own' })
  expect(await notes.claim('k', 'a', 60_000, 60_000)).toEqual({ kind: 'yours', old: null })
  expect(await redisCommand(server.port, 'KEYS', '{own.notes*')).toEqual(['{own.notes:k}'])
  expect(Number(await redisCommand(server.port, 'PTTL', '{own.notes:k}'))).toBeGreaterThan(0)
  expect(await notes.post('k', 'a', 'text', 120_000)).toBe(true)
  expect(Number(await redisCommand(server.port, 'PTTL', '{own.notes:k}'))).toBeGreaterThan(60_000)
  expect(await notes.claim('k', 'b', 60_000, 60_000)).toMatchObject({ kind: 'note', note: { text: 'text' } })
  expect(await notes.post('gone', 'a', 'text', 0)).toBe(true)
  await notes.claim('dropped', 'a', 60_000, 60_000)
  await notes.drop('dropped', 'a')
  expect(await redisCommand(server.port, 'KEYS', '{own.notes*')).toEqual(['{own.notes:k}'])
})
