import { describe, expect, test } from 'vitest'
import { openRedis } from '../../src/redis/connection.js'
import { endAfterTest, openForTest } from '../support/redis-opened.js'
import { startSentinel } from '../support/redis-sentinel.js'
import { freePort, redisCommand, until } from '../support/redis-server.js'

describe('Sentinels', () => {
  test('lead to the master, and to the new one after it was killed', async () => {
    const backends = endAfterTest(await startSentinel({ password: 'secret' }))
    const redis = await openForTest(backends.url, { deadlineMs: 1000 })
    await redis.command('k', ['SET', 'k', '1'])
    await backends.master.kill()
    await until(
      'writes continue',
      () =>
        redis.command('k', ['SET', 'k', '2']).then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'queue_down' })
            return false
          },
        ),
      20_000,
    )
    expect(await backends.masterPort()).toBe(backends.replica.port)
    // The old master comes back and becomes a replica; nobody writes to it.
    await backends.master.restart()
    expect(String(await redis.command('k', ['SET', 'k', '3']))).toBe('OK')
    expect(await redis.command('k', ['GET', 'k'])).toEqual(Buffer.from('3'))
  }, 40_000)

  test('are asked one after the other; what they do not know is said', async () => {
    const backends = endAfterTest(await startSentinel())
    const [first, second] = backends.sentinels
    const nobody = `127.0.0.1:${await freePort()}`
    const redis = await openForTest(`redis+sentinel://${nobody},127.0.0.1:${second?.port}/shoal/1`)
    await redis.command('k', ['SET', 'k', '1'])
    expect(String(await redisCommand(backends.master.port, 'INFO', 'keyspace'))).toContain('db1:keys=1')

    await expect(openRedis(`redis+sentinel://127.0.0.1:${first?.port}/other`)).rejects.toMatchObject({
      code: 'queue_address',
      message: "The sentinels know no master 'other'.",
    })
    await expect(openRedis(`redis+sentinel://:canary@${nobody}/shoal`)).rejects.toMatchObject({
      code: 'queue_unreachable',
      message: `No sentinel of ${nobody} leads to shoal. No connection to Redis at ${nobody}: nothing listens there.`,
    })
    await expect(openRedis(`redis://127.0.0.1:${first?.port}`)).rejects.toMatchObject({
      code: 'queue_address',
      message: `127.0.0.1:${first?.port} is a Sentinel, not a Redis.`,
    })
  }, 20_000)
})
