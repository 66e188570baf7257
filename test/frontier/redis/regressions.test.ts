import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { ShoalError } from '../../../src/errors.js'
import { type Frontier, type Lease, POSITION_CAP } from '../../../src/frontier/frontier.js'
import { openRedisFrontier } from '../../../src/frontier/redis/redis-frontier.js'
import { openRedis, type RedisConnection } from '../../../src/redis/connection.js'
import type { Link } from '../../../src/url/link.js'
import { addressOf, DONE, done, linkTo, specOf, workerOf } from '../../contract/frontier-fixtures.js'
import { type RedisServer, redisCommand, startRedis } from '../../support/redis-server.js'

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

/** Cuts the next call of an operation in one shard: before it ran, or its reply. */
interface Scissors {
  cut: { readonly operation: string; readonly shard: number; readonly when: 'request' | 'reply' } | null
}

async function open(shards: number, scissors: Scissors = { cut: null }) {
  const namespace = `r${++namespaces}`
  const fragile: RedisConnection = {
    masters: 1,
    losses: 0,
    warnings: [],
    command(key, args) {
      asked++
      return connection.command(key, args)
    },
    close: async () => {},
    async run(script, keys, args) {
      const { cut } = scissors
      const meant = cut?.operation === script.name && keys[0]?.startsWith(`{${namespace}.${cut.shard}`)
      if (!meant) return connection.run(script, keys, args)
      scissors.cut = null
      if (cut.when === 'reply') await connection.run(script, keys, args)
      throw new ShoalError('queue_down', 'cut by the test')
    },
  }
  let asked = 0
  /** How many commands it takes in addition to the scripts. */
  const questions = async (work: () => Promise<unknown>) => {
    const before = asked
    await work()
    return asked - before
  }
  const clock = new ManualClock(1_000_000)
  const frontier = await openRedisFrontier(fragile, { namespace, shards, clock })
  const keys = async (pattern: string) =>
    (await redisCommand(server.port, 'KEYS', `{${namespace}${pattern}`)) as string[]
  return { frontier, keys, clock, questions }
}

/** One host in each of two shards, and more. */
const EVERYWHERE: readonly Link[] = Array.from({ length: 8 }, (_, n) => linkTo(`host${n * 7}.test/`))

/** Leases and settles until nothing comes any more. */
async function workOff(frontier: Frontier, name: string, bytes = 0): Promise<number> {
  const worker = workerOf(frontier, name)
  for (let visits = 0, idle = 0; ; ) {
    const { leases } = await worker.lease(5)
    await frontier.settle(leases.map((lease) => ({ lease, outcome: done([], bytes) })))
    visits += leases.length
    idle = leases.length === 0 ? idle + 1 : 0
    if (idle === 3) return visits
  }
}

describe('a crawl over several shards', () => {
  test('is finished although the first try reached only some of them', async () => {
    const scissors: Scissors = { cut: null }
    const { frontier } = await open(2, scissors)
    await frontier.open(specOf())
    await frontier.add('c1', EVERYWHERE)
    await workOff(frontier, 'w1')
    scissors.cut = { operation: 'finish', shard: 1, when: 'request' }
    await expect(frontier.seeded('c1')).rejects.toThrow('cut')
    await workOff(frontier, 'w2')
    expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', done: EVERYWHERE.length })
  })

  test('is finished again when a link woke one of them and the others were not notified', async () => {
    const scissors: Scissors = { cut: null }
    const { frontier } = await open(2, scissors)
    await frontier.open(specOf())
    await frontier.add('c1', EVERYWHERE)
    await frontier.seeded('c1')
    await workOff(frontier, 'w1')
    expect(await frontier.stats('c1')).toMatchObject({ state: 'finished' })
    const more = EVERYWHERE.map(({ host }) => linkTo(`${host}/more`))
    for (const shard of [0, 1]) {
      scissors.cut = { operation: 'add', shard, when: 'reply' }
      for (const link of more) await frontier.add('c1', [link]).catch(() => frontier.add('c1', [link]))
      await workOff(frontier, `w2${shard}`)
      expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', queued: 0 })
    }
  })

  test('is cancelled and removed everywhere although the first tries reached only some of them', async () => {
    const scissors: Scissors = { cut: null }
    const { frontier, keys } = await open(2, scissors)
    for (const shard of [0, 1]) {
      await frontier.open(specOf())
      expect(await frontier.add('c1', EVERYWHERE)).toMatchObject({ added: EVERYWHERE.length })
      scissors.cut = { operation: 'set-state', shard, when: 'request' }
      await expect(frontier.setState('c1', 'cancelled')).rejects.toThrow('cut')
      await frontier.setState('c1', 'cancelled')
      expect((await workerOf(frontier, `w${shard}`).lease(9)).leases).toEqual([])
      scissors.cut = { operation: 'remove', shard, when: 'request' }
      await expect(frontier.remove('c1')).rejects.toThrow('cut')
      await frontier.remove('c1')
      expect([...(await keys('*:c:*')), ...(await keys('*:q:*')), ...(await keys('*:running:*'))]).toEqual([])
    }
  })

  test('spends its budget of bytes where its links are', async () => {
    const { frontier } = await open(3)
    await frontier.open(specOf({ budget: { bytes: 300 } }))
    await frontier.add(
      'c1',
      Array.from({ length: 100 }, (_, n) => linkTo(`a.test/${n}`)),
    )
    const visits = await workOff(frontier, 'w1', 10)
    expect(visits).toBeGreaterThanOrEqual(30)
    expect(visits).toBeLessThan(35)
    expect(await frontier.stats('c1')).toMatchObject({ state: 'finished', endedBy: 'budget_bytes' })
  })

  test('counts delayed links among those pending', async () => {
    const { frontier } = await open(2)
    await frontier.open(specOf())
    const links = [linkTo('a.test/1'), linkTo('a.test/2', { delayMs: 60_000 })]
    expect(await frontier.add('c1', links)).toMatchObject({ pending: 2 })
  })
})

test('a page may have more links than a Lua function takes arguments', async () => {
  const { frontier } = await open(1)
  await frontier.open(specOf())
  await frontier.add('c1', [linkTo('a.test/')])
  const { leases } = await workerOf(frontier, 'w1').lease()
  const links = Array.from({ length: 9000 }, (_, n) => linkTo(`a.test/${n}`))
  expect(await frontier.settle(leases.map((lease) => ({ lease, outcome: done(links) })))).toEqual([true])
  expect(await frontier.stats('c1')).toMatchObject({ total: 9001, queued: 9000, leased: 0, done: 1 })
  expect(await frontier.add('c1', links.slice(0, 500))).toMatchObject({ added: 0, known: 500 })
})

test('a removed crawl leaves no list behind on a host that others still use', async () => {
  const { frontier, keys } = await open(1)
  for (const id of ['a', 'b', 'c']) {
    await frontier.open(specOf({ id }))
    await frontier.add(id, [linkTo('x.test/1'), linkTo('x.test/2')])
  }
  await frontier.setState('a', 'cancelled')
  await frontier.setState('b', 'cancelled')
  // Both are gone before the keys of the first are deleted.
  await Promise.all([frontier.remove('a'), frontier.remove('b')])
  const [left, ...others] = await keys('}:q:*')
  expect(left).toMatch(/:q:3:100:x\.test$/)
  expect(others).toEqual([])
  const { leases } = await workerOf(frontier, 'w1').lease(5)
  expect(leases).toHaveLength(2)
  await frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
  expect(await frontier.stats('c')).toMatchObject({ queued: 0, done: 2 })
})

test('a worker comes back soon while lanes are to be looked at again', async () => {
  const { frontier, clock } = await open(1)
  const limits = { delayMs: 600_000, concurrency: 1 }
  await frontier.open(specOf({ limits }))
  const hosts = Array.from({ length: 500 }, (_, n) => `h${n}.test`)
  for (const path of ['1', '2'])
    await frontier.add(
      'c1',
      hosts.map((host) => linkTo(`${host}/${path}`)),
    )
  const worker = workerOf(frontier, 'w1')
  const leases: Lease[] = []
  for (let more = await worker.lease(500); more.leases.length > 0; more = await worker.lease(500))
    leases.push(...more.leases)
  expect(leases).toHaveLength(500)
  await frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
  await frontier.open(specOf({ limits: { delayMs: 601_000, concurrency: 1 } }))
  clock.advance(100)
  // 200 of them with each call.
  expect((await worker.lease(1)).idleMs).toBe(1)
  expect((await worker.lease(1)).idleMs).toBe(1)
  expect((await worker.lease(1)).idleMs).toBe(1000)
})

test('a crawl that has finished costs its hosts no more work', async () => {
  const { frontier, keys, clock } = await open(1)
  const limits = { delayMs: 1000, concurrency: 1 }
  for (const id of ['old', 'new']) {
    await frontier.open(specOf({ id, limits }))
    await frontier.add(id, [linkTo(`x.test/${id}`)])
    await frontier.seeded(id)
  }
  const [, waiting = ''] = (await keys('}:clock')).flatMap((key) => [key, key.replace('clock', 'w:1')])
  const places = () => redisCommand(server.port, 'ZRANGE', waiting, '0', '-1', 'WITHSCORES')
  const worker = workerOf(frontier, 'w1')
  const visit = async () => {
    const { leases } = await worker.lease()
    clock.advance(200)
    await frontier.settle(leases.map((lease) => ({ lease, outcome: DONE })))
    clock.advance(800)
  }
  await visit()
  expect(await frontier.stats('old')).toMatchObject({ state: 'finished' })
  const before = await places()
  await visit()
  expect(await frontier.stats('new')).toMatchObject({ state: 'finished' })
  expect(await places()).toEqual(before)
})

describe('a link far back in the queue of its host', () => {
  const PATHS = Array.from({ length: POSITION_CAP + 50 }, (_, nth) => `a.test/${nth}`)
  const steer = (frontier: Frontier, address: string) => {
    const { fp, host } = linkTo(address)
    return frontier.steer('c1', fp, host, 'promote')
  }

  test.each(['priority', 'lifo'] as const)('is looked for as far as the cap goes: %s', async (order) => {
    const { frontier, questions } = await open(1)
    await frontier.open(specOf({ order }))
    await frontier.add(
      'c1',
      PATHS.map((path) => linkTo(path)),
    )
    const [near, far] = order === 'lifo' ? [PATHS[60], PATHS[0]] : [PATHS[POSITION_CAP - 60], PATHS.at(-1)]
    const nearby = order === 'lifo' ? PATHS.length - 6 : 5
    const at = async (nth: number) => {
      const where = await frontier.explain('c1', linkTo(PATHS[nth] ?? '').fp, 'a.test')
      return where.state === 'queued' && where.link !== null ? where.position : where
    }
    expect(await at(nearby)).toBe(5)
    expect(await questions(() => at(nearby))).toBeLessThan(15)
    expect(await at(order === 'lifo' ? 0 : PATHS.length - 1)).toBe(POSITION_CAP)
    expect(await steer(frontier, far ?? '')).toBe('too_far')
    expect(await steer(frontier, near ?? '')).toBe('ok')
    const { leases } = await workerOf(frontier, 'w1').lease(1)
    expect(leases.map(addressOf)).toEqual([near])
    expect(await steer(frontier, near ?? '')).toBe('in_flight')
    expect(await frontier.stats('c1')).toMatchObject({ total: PATHS.length, queued: PATHS.length - 1, leased: 1 })
  })
})

test('a page of thousands of dead letters takes few questions, and so does one letter', async () => {
  const { frontier, keys, questions } = await open(1)
  await frontier.open(specOf())
  await frontier.setState('c1', 'paused')
  const rare = 1_500
  const letters = Array.from({ length: 3_000 }, (_, nth) => {
    const failure = {
      code: nth === rare ? ('robots_disallowed' as const) : ('http_error' as const),
      message: '',
      at: 1,
    }
    return {
      ...{ link: linkTo(`a.test/${nth}`), state: 'dead' as const, attempts: 1, throttles: 0, reclaims: 0 },
      failures: [failure],
    }
  })
  await frontier.restore('c1', letters)
  const groups = (sample: string) => [
    { code: 'http_error', count: letters.length - 1, sample: 'https://a.test/0' },
    { code: 'robots_disallowed', count: 1, sample },
  ]
  expect(await frontier.deadByError('c1')).toEqual(groups(`https://a.test/${rare}`))
  expect(await questions(() => frontier.deadByError('c1'))).toBeLessThan(20)
  // As a queue that is older than the samples has it.
  for (const key of await keys('}:xs:*')) await redisCommand(server.port, 'DEL', key)
  expect(await frontier.deadByError('c1')).toEqual(groups(''))
  expect(await questions(() => frontier.deadByError('c1'))).toBeLessThan(20)
  const { fp } = linkTo(`a.test/${rare}`)
  expect(await questions(() => frontier.purge('c1', { fp }))).toBeLessThan(5)
  expect(await frontier.stats('c1')).toMatchObject({ dead: letters.length - 1, skipped: 1 })
})

test('a link that moves between being found and being steered is found again', async () => {
  const { frontier } = await open(1)
  await frontier.open(specOf())
  await frontier.add('c1', [linkTo('a.test/1'), linkTo('a.test/2')])
  // Taken by a worker, as it is looked for.
  const { fp, host } = linkTo('a.test/1')
  const [steered] = await Promise.all([
    frontier.steer('c1', fp, host, 'remove'),
    workerOf(frontier, 'w1').lease(1),
    frontier.stats('c1'),
  ])
  const { leased, skipped } = await frontier.stats('c1')
  expect({ steered, leased, skipped }).toEqual(
    steered === 'ok' ? { steered, leased: 1, skipped: 1 } : { steered: 'in_flight', leased: 1, skipped: 0 },
  )
})
