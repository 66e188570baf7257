import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/clock.js'
import { openRedisFrontier } from '../../../src/frontier/redis/redis-frontier.js'
import { openRedis, type RedisConnection } from '../../../src/redis/connection.js'
import { linkTo, specOf, workerOf } from '../../contract/frontier-fixtures.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

const HOUR_MS = 3_600_000
const LEASE_MS = 5_000
const LINKS = Array.from({ length: 20 }, (_, index) => linkTo(`h${index}.test/`))
let server: RedisServer
let connection: RedisConnection
let namespaces = 0

beforeAll(async () => {
  server = await startRedis()
  connection = await openRedis(server.url)
})

afterAll(async () => {
  await connection.close()
  await server.stop()
})

/** Twenty links in the hands of one worker. */
async function held(options: { clock?: ManualClock; jumpMs?: () => number }) {
  const frontier = await openRedisFrontier(connection, { namespace: `time${++namespaces}`, ...options })
  await frontier.open(specOf({ visibilityMs: LEASE_MS }))
  await frontier.add('c1', LINKS)
  const { leases } = await workerOf(frontier, 'w1').lease(LINKS.length)
  expect(leases).toHaveLength(LINKS.length)
  return { frontier, leases }
}

describe('the keeper', () => {
  it('renews everything that its worker holds, started or not', async () => {
    const clock = new ManualClock()
    const { frontier, leases } = await held({ clock })
    for (let beat = 0; beat < 4; beat++) {
      clock.advance(LEASE_MS - 1)
      expect((await frontier.keep('w1', HOUR_MS, [], [])).sort()).toEqual(leases.map(({ epoch }) => epoch).sort())
      expect(await frontier.reap(100)).toBe(0)
    }
  })

  it('revives nothing that ran out, and keeps nothing that is disowned or too old', async () => {
    const clock = new ManualClock()
    const { frontier, leases } = await held({ clock })
    const [disowned = ''] = leases.map(({ epoch }) => epoch)
    clock.advance(LEASE_MS - 1)
    expect(await frontier.keep('w1', HOUR_MS, [disowned], [])).toHaveLength(LINKS.length - 1)
    clock.advance(1)
    expect(await frontier.reap(100)).toBe(1)
    clock.advance(LEASE_MS - 2)
    expect(await frontier.keep('w1', LEASE_MS, [], [])).toEqual([])
    clock.advance(1)
    expect(await frontier.keep('w1', HOUR_MS, [], [])).toEqual([])
    expect(await frontier.reap(100)).toBe(LINKS.length - 1)
  })

  it('keeps what waits for our own backends, however long', async () => {
    const clock = new ManualClock()
    const { frontier, leases } = await held({ clock })
    const [waiting = '', disowned = ''] = leases.map(({ epoch }) => epoch)
    for (let beat = 0; beat < 4; beat++) {
      clock.advance(LEASE_MS - 1)
      const kept = await frontier.keep('w1', LEASE_MS, [disowned], [waiting])
      expect(beat === 0 ? kept.includes(waiting) && !kept.includes(disowned) : kept).toEqual(
        beat === 0 ? true : [waiting],
      )
    }
    expect(await frontier.reap(100)).toBe(LINKS.length - 1)
  })
})

describe("a jump of the server's clock", () => {
  it.each([HOUR_MS, -HOUR_MS])('of %i ms ends no lease, loses no worker and closes no host', async (jump) => {
    let jumpMs = 0
    const { frontier, leases } = await held({ jumpMs: () => jumpMs })
    await frontier.reap(100)
    await frontier.beat('w1', LEASE_MS)
    jumpMs = jump
    expect(await frontier.reap(100)).toBe(0)
    const tokens = leases.map(({ token }) => token)
    expect(await frontier.extend('w1', tokens)).toEqual([])
    const answers = await frontier.settle(
      leases.map((lease) => ({ lease, outcome: { kind: 'done', links: [linkTo(`${lease.link.host}/2`)], bytes: 0 } })),
    )
    expect(answers).toEqual(leases.map(() => true))
    expect((await workerOf(frontier, 'w2').lease(LINKS.length)).leases).toHaveLength(LINKS.length)
  })
})

describe('the pace of a host', () => {
  it.each([HOUR_MS, -HOUR_MS])('is kept when the clock of the server jumps by %i ms', async (jump) => {
    let jumpMs = 0
    const frontier = await openRedisFrontier(connection, { namespace: `time${++namespaces}`, jumpMs: () => jumpMs })
    await frontier.open(specOf({ limits: { delayMs: 1_000, concurrency: 9 } }))
    await frontier.add('c1', [linkTo('a.test/1'), linkTo('a.test/2')])
    const worker = workerOf(frontier, 'w1')
    expect((await worker.lease()).leases).toHaveLength(1)
    jumpMs = jump
    for (let call = 0; call < 3; call++) expect((await worker.lease()).leases).toEqual([])
  })
})
