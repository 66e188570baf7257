import { createHash } from 'node:crypto'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { openRedis, type RedisConnection, type Script } from '../../src/redis/connection.js'
import { endAfterTest, openForTest, proxyForTest, redisForTest } from '../support/redis-opened.js'
import { redisCommand, until } from '../support/redis-server.js'

function script(source: string): Script {
  return { name: 'test', source, sha: createHash('sha1').update(source).digest('hex') }
}

const COUNT = script("return { redis.call('INCRBY', KEYS[1], ARGV[1]), ARGV[1], false }")

const DOWN = expect.objectContaining({ code: 'queue_down', next: 'backend' })

/** Repeats the call as workers do. */
async function untilBack(redis: RedisConnection, withinMs = 5000): Promise<void> {
  await until(
    'Redis is back',
    () =>
      redis.command(null, ['PING']).then(
        () => true,
        (error: unknown) => {
          expect(error).toEqual(DOWN)
          return false
        },
      ),
    withinMs,
  )
}

describe('A connection to one Redis', () => {
  test('runs a script, also when the server has forgotten it, and answers strings as bytes', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    expect(await redis.run(COUNT, ['n'], ['2'])).toEqual([2, Buffer.from('2'), null])
    await redis.command(null, ['SCRIPT', 'FLUSH'])
    expect(await redis.run(COUNT, ['n'], ['3'])).toEqual([5, Buffer.from('3'), null])
    expect(await redis.command('n', ['GET', 'n'])).toEqual(Buffer.from('5'))
    const bytes = Buffer.from([0, 255, 13, 10, 128])
    expect(await redis.command('b', ['SET', 'b', bytes])).toEqual(Buffer.from('OK'))
    expect(await redis.command('b', ['GET', 'b'])).toEqual(bytes)
    expect(redis.masters).toBe(1)
  })

  test("leaves a script's own error as it is", async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    await expect(redis.run(script("return redis.error_reply('newer layout')"), ['k'], [])).rejects.toThrow(
      'newer layout',
    )
    await expect(redis.run(script('local x = nil; return x.y'), ['k'], [])).rejects.toThrow('attempt to index')
    expect(await redis.run(COUNT, ['n'], ['1'])).toEqual([1, Buffer.from('1'), null])
  })

  test('says that it was closed, and releases what is waiting', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    server.pause()
    const waiting = redis.command(null, ['PING'])
    await Promise.all([expect(waiting).rejects.toEqual(DOWN), redis.close()])
    server.resume()
    await expect(redis.command(null, ['PING'])).rejects.toMatchObject({ code: 'closed' })
  })

  test('recovers after the server was killed and started again', async () => {
    const server = await redisForTest({ aof: 'always' })
    const redis = await openForTest(server.url)
    await redis.command('n', ['SET', 'n', '1'])
    await server.kill()
    for (let times = 0; times < 4; times++) await expect(redis.command('n', ['GET', 'n'])).rejects.toEqual(DOWN)
    await server.restart()
    await untilBack(redis)
    expect(await redis.command('n', ['GET', 'n'])).toEqual(Buffer.from('1'))
    // All scripts are unknown to the new process.
    expect(await redis.run(COUNT, ['n'], ['1'])).toEqual([2, Buffer.from('1'), null])
  })

  test('waits while the server loads its data', async () => {
    const server = await redisForTest({ aof: 'everysec', args: ['--key-load-delay', '300'] })
    const redis = await openForTest(server.url)
    await Promise.all(Array.from({ length: 4000 }, (_, n) => redis.command('k', ['SET', `k${n}`, 'x'])))
    const restarted = server.restart()
    const seen = new Set<string>()
    await until('it is loaded', () =>
      redis.command('k', ['GET', 'k3999']).then(
        () => true,
        (error: unknown) => {
          expect(error).toEqual(DOWN)
          seen.add(String(error))
          return false
        },
      ),
    )
    await restarted
    expect([...seen].filter((message) => message.includes('is loading its data'))).toHaveLength(1)
  })

  test('waits for a server that has no connection left', async () => {
    const server = await redisForTest({ args: ['--maxclients', '2'] })
    const [first, second] = [await openForTest(server.url), await openForTest(server.url)]
    await expect(openRedis(server.url)).rejects.toEqual(DOWN)
    await first.close()
    await second.command(null, ['PING'])
    await until('there is room', () =>
      openForTest(server.url).then(
        () => true,
        () => false,
      ),
    )
  })

  test('waits for a server that refuses everything, and does not take that for a mistake of the user', async () => {
    const server = await redisForTest({ password: 'canary' })
    const redis = await openForTest(server.url)
    const admin = await openForTest(server.url)
    await admin.command(null, ['CONFIG', 'SET', 'requirepass', 'changed'])
    await admin.command(null, ['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'])
    for (let times = 0; times < 3; times++) {
      const error: unknown = await redis.command(null, ['PING']).catch((thrown: unknown) => thrown)
      expect(error).toEqual(DOWN)
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('canary')
    }
    await admin.command(null, ['CONFIG', 'SET', 'requirepass', 'canary'])
    await untilBack(redis)
    expect(process.title).not.toContain('canary')
  })

  test('treats a busy server like one that is down', async () => {
    const server = await redisForTest({ args: ['--busy-reply-threshold', '50'] })
    const redis = await openForTest(server.url)
    const other = await openForTest(server.url, { deadlineMs: 20_000 })
    const endless = other.run(script('while true do end'), ['k'], [])
    const killed = expect(endless).rejects.toThrow()
    await until('it is busy', () =>
      redis.command('k', ['GET', 'k']).then(
        () => false,
        (error: unknown) => {
          expect(error).toEqual(DOWN)
          return true
        },
      ),
    )
    await redisCommand(server.port, 'SCRIPT', 'KILL')
    await killed
    await untilBack(redis)
  })
})

describe('A reply that is lost', () => {
  test('rejects once, and the script has run once', async () => {
    const server = await redisForTest()
    const proxy = await proxyForTest(server.port)
    const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`)
    await redis.run(COUNT, ['n'], ['1'])
    for (let round = 1; round <= 5; round++) {
      const dropped = proxy.dropNextReply()
      await expect(redis.run(COUNT, ['n'], ['1'])).rejects.toEqual(DOWN)
      await dropped
      // Were it sent again by anybody, it would be before this call on the new connection.
      expect(await redis.command('n', ['GET', 'n'])).toEqual(Buffer.from(String(1 + round)))
    }
  })

  test('rejects every call that was under way, and none of them runs again', async () => {
    const server = await redisForTest()
    const proxy = await proxyForTest(server.port)
    const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`)
    proxy.hold('replies')
    const calls = Array.from({ length: 100 }, () => redis.command('n', ['INCR', 'n']))
    const settled = Promise.allSettled(calls)
    await until('all have run', async () => (await redisCommand(server.port, 'GET', 'n')) === '100')
    proxy.reset()
    const outcomes = await settled
    expect(
      outcomes.filter((outcome) => outcome.status === 'rejected' && outcome.reason.code === 'queue_down'),
    ).toHaveLength(100)
    proxy.release()
    expect(await redis.command('n', ['GET', 'n'])).toEqual(Buffer.from('100'))
  })

  test('that is cut in the middle is no reply', async () => {
    const server = await redisForTest()
    const proxy = await proxyForTest(server.port)
    const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`)
    await redis.command('k', ['SET', 'k', 'x'.repeat(1000)])
    proxy.cutAfter('replies', 500)
    await expect(redis.command('k', ['GET', 'k'])).rejects.toEqual(DOWN)
    expect(String(await redis.command('k', ['GET', 'k']))).toHaveLength(1000)
  })
})

describe('A connection that does not answer', () => {
  test('is given up after the deadline and dialled again', async () => {
    const server = await redisForTest()
    const proxy = await proxyForTest(server.port)
    const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`, { deadlineMs: 800 })
    proxy.hold()
    await expect(redis.command('n', ['INCR', 'n'])).rejects.toThrow('no answer within 800 ms')
    await expect(redis.command('n', ['INCR', 'n'])).rejects.toEqual(DOWN)
    expect(proxy.accepted).toBe(2)
    // The dead connections are never released: only a new one can help.
    proxy.reset()
    proxy.release()
    await untilBack(redis)
  })

  test('because the server sleeps, continues when it wakes', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url, { deadlineMs: 1000 })
    server.pause()
    await expect(redis.command(null, ['PING'])).rejects.toEqual(DOWN)
    await expect(redis.command(null, ['PING'])).rejects.toEqual(DOWN)
    server.resume()
    await untilBack(redis)
  })

  test('is kept while other calls on it are answered: the server is only slow', async () => {
    const server = await redisForTest()
    const proxy = await proxyForTest(server.port)
    const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`, { deadlineMs: 1000 })
    const [first, second] = [redis.command('a', ['BLPOP', 'a', '30']), redis.command('b', ['BLPOP', 'b', '30'])]
    const late = expect(second).rejects.toEqual(DOWN)
    await new Promise((resolve) => setTimeout(resolve, 500))
    await redisCommand(server.port, 'RPUSH', 'a', '1')
    await first
    await late
    await redisCommand(server.port, 'RPUSH', 'b', '1')
    expect(String(await redis.command(null, ['PING']))).toBe('PONG')
    expect(proxy.accepted).toBe(1)
  })

  test('also when it is taken by something that never greets', async () => {
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    endAfterTest({ stop: async () => void mute.close() })
    const address = mute.address()
    const port = address !== null && typeof address === 'object' ? address.port : 0
    await expect(openRedis(`redis://127.0.0.1:${port}`, { deadlineMs: 300 })).rejects.toThrow(/no answer|No connection/)
  })

  test('costs nothing when this process itself was frozen: what has arrived counts', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url, { deadlineMs: 1000 })
    const reply = redis.command(null, ['PING'])
    // It is written at the end of this turn of the event loop.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    const until = performance.now() + 1300
    while (performance.now() < until);
    expect(String(await reply)).toBe('PONG')
  })
})
