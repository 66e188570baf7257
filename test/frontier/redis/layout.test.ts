import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ShoalError } from '../../../src/errors.js'
import { openBackends } from '../../../src/wire/backends.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const open = () => openBackends({ queue: redis.url, store: 'memory:' })

async function withLayout(layout: string): Promise<ShoalError> {
  const client = createClient({ url: redis.url })
  await client.connect()
  try {
    const [key = ''] = await client.keys('*:meta')
    await client.hSet(key, 'layout', layout)
    const before = await client.dbSize()
    const refusal = await open().then(
      async (backends) => {
        await backends.close()
        throw new Error('was opened')
      },
      (error: unknown) => error,
    )
    expect(await client.dbSize()).toBe(before)
    expect(await client.hGet(key, 'layout')).toBe(layout)
    if (refusal instanceof ShoalError) return refusal
    throw refusal
  } finally {
    await client.close()
  }
}

describe('a queue in the layout of another version', () => {
  it('is refused with what to do, and not touched', async () => {
    await (await open()).close()
    const newer = await withLayout('9001')
    expect([newer.code, newer.exitCode]).toEqual(['queue_layout', 4])
    expect(newer.message).toContain('layout 9001')
    expect(newer.hint).toMatch(/newer version .* upgrade this process/)
    const older = await withLayout('1')
    expect(older.code).toBe('queue_layout')
    expect(older.hint).toMatch(/Finish its crawls with the version that wrote them/)
  })
})
