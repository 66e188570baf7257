import { expect, test } from 'vitest'
import { openRedis } from '../../src/redis/connection.js'
import { openForTest, proxyForTest, redisForTest } from './redis-opened.js'

test('The proxy passes everything on, later when told to, and counts it', async () => {
  const server = await redisForTest()
  const proxy = await proxyForTest(server.port)
  const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`)
  const big = Buffer.alloc(1_000_000, 'x')
  await redis.command('k', ['SET', 'k', big])
  expect(proxy.bytes.requests).toBeGreaterThan(big.length)
  const back = await redis.command('k', ['GET', 'k'])
  expect(Buffer.isBuffer(back) && back.equals(big)).toBe(true)
  proxy.delay('requests', 150)
  proxy.delay('replies', 150)
  const begin = performance.now()
  await redis.command(null, ['PING'])
  expect(performance.now() - begin).toBeGreaterThan(290)
})

test('The proxy holds one direction and lets it go again', async () => {
  const server = await redisForTest()
  const proxy = await proxyForTest(server.port)
  const redis = await openForTest(`redis://127.0.0.1:${proxy.port}`)
  proxy.hold('replies')
  let answered = false
  const call = redis.command('k', ['INCR', 'k']).finally(() => {
    answered = true
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(answered).toBe(false)
  proxy.release()
  expect(await call).toBe(1)
})

test('The proxy refuses new connections', async () => {
  const server = await redisForTest()
  const proxy = await proxyForTest(server.port)
  proxy.refuse(true)
  await expect(openRedis(`redis://127.0.0.1:${proxy.port}`)).rejects.toMatchObject({ code: 'queue_unreachable' })
  proxy.refuse(false)
  await openForTest(`redis://127.0.0.1:${proxy.port}`)
})
