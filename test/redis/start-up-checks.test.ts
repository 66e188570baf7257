import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { openRedis } from '../../src/redis/connection.js'
import { durabilityGap, readInfo, refuseUnfit } from '../../src/redis/start-up-checks.js'
import { openForTest, redisForTest } from '../support/redis-opened.js'
import { freePort, redisCommand } from '../support/redis-server.js'
import { SELF_SIGNED } from '../support/test-only-certificates.js'

/** The one line and the code; nothing of the error, its cause included, may hold the password. */
async function refusal(address: string): Promise<{ code: string; message: string; hint: string }> {
  const error: unknown = await openRedis(address, { deadlineMs: 1500 }).then(
    () => new Error('it was not refused'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ShoalError)) throw error
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('canary')
  expect(error.message).not.toContain('\n')
  return { code: error.code, message: error.message, hint: error.hint }
}

describe('At the start a clear line refuses', () => {
  test('a wrong password, a missing one, and one too many', async () => {
    const server = await redisForTest({ password: 'right' })
    const at = `127.0.0.1:${server.port}`
    expect(await refusal(`redis://:canary@${at}`)).toMatchObject({
      code: 'queue_auth',
      message: `Redis at ${at} refuses the user name or the password.`,
    })
    expect(await refusal(`redis://${at}`)).toMatchObject({
      code: 'queue_auth',
      message: `Redis at ${at} wants a password, and the address has none.`,
    })
    const open = await redisForTest()
    expect(await refusal(`redis://:canary@127.0.0.1:${open.port}`)).toMatchObject({
      code: 'queue_auth',
      message: `Redis at 127.0.0.1:${open.port} has no password, and the address gives one.`,
    })
  })

  test('an ACL user without EVAL, EVALSHA or INFO', async () => {
    const server = await redisForTest({
      acl: [
        'user default off',
        'user noeval on >canary ~* +info +evalsha +config|get',
        'user noevalsha on >canary ~* +info +eval',
        'user noinfo on >canary ~* +eval +evalsha',
        'user enough on >canary ~* +eval +evalsha +info',
      ],
    })
    const at = `127.0.0.1:${server.port}`
    const lacks = (command: string) => ({
      code: 'queue_forbidden',
      message: `The user of the Redis queue at ${at} lacks a permission: it may not run ${command}.`,
    })
    expect(await refusal(`redis://noeval:canary@${at}`)).toMatchObject(lacks('EVAL'))
    expect(await refusal(`redis://noevalsha:canary@${at}`)).toMatchObject(lacks('EVALSHA'))
    expect(await refusal(`redis://noinfo:canary@${at}`)).toMatchObject(lacks('INFO'))

    // What a script may not do is reported as well, and CONFIG is not needed.
    const redis = await openForTest(`redis://enough:canary@${at}`)
    expect(redis.warnings).toEqual([expect.stringContaining('keeps at most snapshots')])
    const write = { name: 'write', source: "return redis.call('SET', KEYS[1], '1')", sha: '0'.repeat(40) }
    await expect(redis.run(write, ['k'], [])).rejects.toMatchObject({
      code: 'queue_forbidden',
      message: expect.stringContaining("can't run this command"),
    })
  })

  test('TLS with a wrong CA, a missing CA file, a plain port, and plain text to a TLS port', async () => {
    const server = await redisForTest({ tls: true })
    const at = `127.0.0.1:${server.port}`
    const redis = await openForTest(server.url)
    expect(String(await redis.command(null, ['PING']))).toBe('PONG')

    const wrong = join(server.dir, 'wrong.pem')
    writeFileSync(wrong, SELF_SIGNED)
    expect(await refusal(`rediss://${at}?ca=${wrong}`)).toMatchObject({
      code: 'queue_tls',
      message: expect.stringMatching(`^No TLS with Redis at ${at}: its certificate is not signed by a trusted CA`),
    })
    expect(await refusal(`rediss://${at}`)).toMatchObject({ code: 'queue_tls' })
    expect(await refusal(`${server.url}&servername=elsewhere.test`)).toMatchObject({
      code: 'queue_tls',
      message: `No TLS with Redis at ${at}: its certificate is for another host.`,
    })
    expect(await refusal(`rediss://${at}?ca=${server.dir}/none.pem`)).toMatchObject({
      code: 'queue_tls',
      message: expect.stringContaining('cannot be read'),
    })
    expect(await refusal(`redis://${at}`)).toMatchObject({
      code: 'queue_unreachable',
      message: expect.stringContaining('does it want TLS, rediss://?'),
    })
    const plain = await redisForTest()
    expect(await refusal(`rediss://127.0.0.1:${plain.port}`)).toMatchObject({
      code: 'queue_unreachable',
      message: `No connection to Redis at 127.0.0.1:${plain.port}: no answer in time (does it speak TLS on this port?).`,
    })
  })

  test('an eviction policy under which URLs would vanish', async () => {
    const server = await redisForTest({ args: ['--maxmemory-policy', 'allkeys-lru'] })
    expect(await refusal(server.url)).toMatchObject({
      code: 'queue_eviction',
      message: expect.stringContaining('has maxmemory-policy allkeys-lru'),
      hint: expect.stringContaining('noeviction'),
    })
  })

  test('a server whose memory is full; while a crawl runs that is back-pressure', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    await redisCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '100kb')
    expect(await refusal(server.url)).toMatchObject({ code: 'queue_full', message: expect.stringContaining('is full') })
    await expect(redis.command('k', ['SET', 'k', '1'])).rejects.toMatchObject({ code: 'queue_down', next: 'backend' })
    const write = { name: 'write', source: "return redis.call('SET', KEYS[1], '1')", sha: '0'.repeat(40) }
    await expect(redis.run(write, ['k'], [])).rejects.toMatchObject({ code: 'queue_down' })
    await redisCommand(server.port, 'CONFIG', 'SET', 'maxmemory', '0')
    expect(String(await redis.command('k', ['SET', 'k', '1']))).toBe('OK')
  })

  test('a read-only replica; a master that becomes one is back-pressure', async () => {
    const master = await redisForTest()
    const replica = await redisForTest()
    const redis = await openForTest(replica.url)
    await redisCommand(replica.port, 'REPLICAOF', '127.0.0.1', String(master.port))
    expect(await refusal(replica.url)).toMatchObject({
      code: 'queue_replica',
      message: `Redis at 127.0.0.1:${replica.port} is a read-only replica of 127.0.0.1:${master.port}.`,
    })
    await expect(redis.command('k', ['SET', 'k', '1'])).rejects.toMatchObject({ code: 'queue_down' })
  })

  test('a host that does not answer, does not exist, or is no Redis', async () => {
    const port = await freePort()
    expect(await refusal(`redis://u:canary@127.0.0.1:${port}`)).toMatchObject({
      code: 'queue_unreachable',
      message: `No connection to Redis at 127.0.0.1:${port}: nothing listens there.`,
    })
    expect(await refusal('redis://u:canary@no-such-host.invalid')).toMatchObject({ code: 'queue_unreachable' })
  })

  test('a single server that was taken for a cluster', async () => {
    const server = await redisForTest()
    expect(await refusal(`redis+cluster://127.0.0.1:${server.port}`)).toMatchObject({
      code: 'queue_address',
      message: `Redis at 127.0.0.1:${server.port} is no node of a cluster.`,
    })
  })

  test('a database that does not exist', async () => {
    const server = await redisForTest()
    expect(await refusal(`${server.url}/77`)).toMatchObject({ code: 'queue_address' })
    const redis = await openForTest(`${server.url}/2`)
    await redis.command('k', ['SET', 'k', '1'])
    expect(String(await redisCommand(server.port, 'INFO', 'keyspace'))).toContain('db2:keys=1')
  })

  test('a server that is older than 6.2', () => {
    const judge = (version: string) => () => refuseUnfit(readInfo(`# Server\r\nredis_version:${version}\r\n`), 'host:1')
    expect(judge('5.0.14')).toThrow('Redis at host:1 is version 5.0.14; Shoal needs 6.2 or newer.')
    expect(judge('6.0.16')).toThrow(expect.objectContaining({ code: 'queue_too_old' }))
    for (const version of ['6.2.0', '7.0.15', '8.4.1', '10.0.0']) expect(judge(version)).not.toThrow()
  })

  test('a Sentinel that was taken for a Redis', () => {
    const info = readInfo('redis_version:7.0.15\r\nredis_mode:sentinel\r\n')
    expect(() => refuseUnfit(info, 'host:1')).toThrow('host:1 is a Sentinel, not a Redis.')
  })
})

describe('What a crash would cost is said', () => {
  test('for each way of keeping data', () => {
    const off = readInfo('aof_enabled:0')
    const on = readInfo('aof_enabled:1')
    expect(durabilityGap(off, { save: '', appendfsync: 'everysec' })).toMatch(/^keeps nothing on disk/)
    expect(durabilityGap(off, { save: '3600 1', appendfsync: 'everysec' })).toMatch(
      /^keeps only snapshots \(save 3600 1\)/,
    )
    expect(durabilityGap(off, { save: null, appendfsync: null })).toMatch(/^keeps at most snapshots/)
    expect(durabilityGap(on, { save: '', appendfsync: 'no' })).toMatch(/^leaves the flushing/)
    for (const appendfsync of ['everysec', 'always', null]) {
      expect(durabilityGap(on, { save: '', appendfsync })).toBeNull()
    }
  })

  test('by real servers', async () => {
    const nothing = await redisForTest()
    expect((await openForTest(nothing.url)).warnings).toEqual([
      expect.stringMatching(
        `^Redis at 127.0.0.1:${nothing.port} keeps nothing on disk: when it ends, the queue is lost`,
      ),
    ])
    const safe = await redisForTest({ aof: 'everysec' })
    expect((await openForTest(safe.url)).warnings).toEqual([])
  })
})
