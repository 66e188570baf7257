import { describe, expect, it } from 'vitest'
import type { Lease, LeaseReply } from '../../../src/frontier/frontier.js'
import { type LeasePart, LeasePlans, merge, turnOrder } from '../../../src/frontier/redis/lease-plan.js'

const NOBODY = async () => false
const request = (seq: number, want: number) => ({ worker: 'w1', seq, want, spiders: ['books'] })

function reply(tokens: readonly string[], changes: Partial<LeaseReply> = {}): LeaseReply {
  return { leases: tokens.map((token) => ({ token }) as Lease), idleMs: 1000, drain: false, ...changes }
}

/** Shards with so many links each; a question that is repeated gets the same answer. */
function shards(links: readonly number[]) {
  const left = [...links]
  const given = new Map<string, readonly string[]>()
  const asked: string[] = []
  const ask = async ({ shard, want, before, round }: LeasePart) => {
    asked.push(`${shard}${round} ${want}${before > 0 ? ` after ${before}` : ''}`)
    const name = `${shard}${round}`
    const tokens = given.get(name) ?? Array.from({ length: Math.min(want, left[shard] ?? 0) }, (_, n) => `${name}:${n}`)
    if (!given.has(name)) left[shard] = (left[shard] ?? 0) - tokens.length
    given.set(name, tokens)
    return reply(tokens)
  }
  return { ask, asked }
}

const tokens = ({ leases }: LeaseReply) => leases.map(({ token }) => token)

describe('a lease call over shards', () => {
  it('asks the only shard once', async () => {
    const { ask, asked } = shards([5])
    expect(tokens(await new LeasePlans(1).lease(request(7, 3), ask, NOBODY))).toHaveLength(3)
    expect(asked).toEqual(['0 3'])
  })

  it('asks one for everything, and the next for what is missing', async () => {
    const { ask, asked } = shards([9, 1, 5])
    expect(tokens(await new LeasePlans(3).lease(request(1, 9), ask, NOBODY))).toHaveLength(9)
    expect(asked).toEqual(['1.1 9', '2.1 8 after 1', '0.1 3 after 6'])
  })

  it('asks no more shards than it needs, and one when nothing is wanted', async () => {
    const { ask, asked } = shards([0, 9, 9, 9])
    expect(tokens(await new LeasePlans(4).lease(request(0, 2), ask, NOBODY))).toHaveLength(2)
    expect(asked).toEqual(['0.1 2', '1.1 2'])
    await new LeasePlans(4).lease(request(2, 0), ask, NOBODY)
    expect(asked.slice(2)).toEqual(['2.1 0'])
  })

  it('begins with another shard each call, so that none starves', async () => {
    const { ask, asked } = shards([99, 99, 99])
    const plans = new LeasePlans(3)
    for (const seq of [1, 2, 3, 4]) await plans.lease(request(seq, 3), ask, NOBODY)
    expect(asked.map((question) => question[0])).toEqual(['1', '2', '0', '1'])
  })

  it('repeats the same questions when the reply was lost', async () => {
    const { ask, asked } = shards([9, 1, 9])
    const plans = new LeasePlans(3)
    const first = await plans.lease(request(1, 9), ask, NOBODY)
    const before = [...asked]
    expect(await plans.lease(request(1, 9), ask, NOBODY)).toEqual(first)
    expect(asked).toEqual([...before, ...before])
  })

  it('gives no lease twice after a try that reached only some of the shards', async () => {
    const { ask } = shards([9, 3, 3])
    const plans = new LeasePlans(3)
    let cut = true
    const fragile = (part: LeasePart) => {
      if (cut && part.shard === 2) return Promise.reject(new Error('cut'))
      return ask(part)
    }
    await expect(plans.lease(request(1, 9), fragile, NOBODY)).rejects.toThrow('cut')
    cut = false
    const leased = tokens(await plans.lease(request(1, 9), fragile, NOBODY))
    expect(new Set(leased).size).toBe(9)
    expect(leased).toHaveLength(9)
  })

  it('leases a link alone to a worker that holds nothing anywhere', async () => {
    const ask = async ({ shard, alone }: LeasePart) =>
      alone ? reply(['solo'], { drain: true }) : reply([], { drain: shard === 1 })
    const lease = (holdsNothing: boolean) => new LeasePlans(2).lease(request(1, 4), ask, async () => holdsNothing)
    expect(await lease(false)).toMatchObject({ leases: [], drain: true })
    expect(await lease(true)).toMatchObject({ leases: [{ token: 'solo' }], drain: false })
  })
})

describe('its arithmetic', () => {
  it('begins with another shard each time', () => {
    expect([0, 1, 5].map((seq) => turnOrder(seq, 3))).toEqual([
      [0, 1, 2],
      [1, 2, 0],
      [2, 0, 1],
    ])
  })

  it('sleeps no longer than the first shard that has something', () => {
    const part: LeasePart = { shard: 0, want: 1, before: 0, round: '.1', alone: false }
    const replies = [reply([], { idleMs: 700 }), reply([], { idleMs: 20 })].map((one) => ({ part, reply: one }))
    expect(merge(replies)).toEqual({ leases: [], idleMs: 20, drain: false })
  })
})
