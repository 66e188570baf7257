import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import { createRobotsCache } from '../../src/politeness/robots-cache.js'

const HOUR = 3_600_000

function answer(status: number, body = ''): FetchResponse {
  return { url: '', status, headers: {}, cookies: [], body: Buffer.from(body), wireBytes: body.length, ms: 1 }
}
const rules = answer(200, 'User-agent: *\nDisallow: /x')

function setUp(maxEntries = 100) {
  const clock = new ManualClock()
  return { clock, cache: createRobotsCache({ clock, productToken: 'Shoal', maxEntries }) }
}

describe('robots cache', () => {
  it('asks once for an authority and then answers with a value', async () => {
    const { cache } = setUp()
    const get = vi.fn(async () => rules)
    const first = cache.check('http://a.test:8080/x?y=/z', get)
    expect(first).toBeInstanceOf(Promise)
    expect((await first).allows('/x')).toBe(false)
    expect(get).toHaveBeenCalledExactlyOnceWith('http://a.test:8080/robots.txt')
    const second = cache.check('http://a.test:8080/other', get)
    expect(second).not.toBeInstanceOf(Promise)
    expect(second).toBe(await first)
    await cache.check('https://a.test:8080/', get)
    await cache.check('http://a.test/', get)
    expect(get).toHaveBeenCalledTimes(3)
  })

  it('ten thousand callers at once share one fetch', async () => {
    const { cache } = setUp()
    const get = vi.fn(async () => rules)
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => cache.check(`http://a.test/${i}`, get)))
    expect(get).toHaveBeenCalledTimes(1)
  })

  it('keeps a file for a day', async () => {
    const { cache, clock } = setUp()
    const get = vi.fn(async () => rules)
    await cache.check('http://a.test/', get)
    clock.advance(24 * HOUR - 1)
    await cache.check('http://a.test/', get)
    expect(get).toHaveBeenCalledTimes(1)
    clock.advance(1)
    await cache.check('http://a.test/', get)
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('uses the old copy while a new one cannot be had', async () => {
    const { cache, clock } = setUp()
    const get = vi.fn(async () => rules)
    await cache.check('http://a.test/', get)
    clock.advance(25 * HOUR)
    for (const failing of [
      async () => answer(503),
      () => Promise.reject(new ShoalError('timeout', '')),
      () => Promise.reject(new ShoalError('dns_not_found', '')),
    ]) {
      const robots = await cache.check('http://a.test/', failing)
      expect(robots.allows('/y')).toBe(true)
      expect(robots.allows('/x')).toBe(false)
      expect(robots.retryAt).toBeNull()
      // It is not asked again at once.
      expect(cache.check('http://a.test/', failing)).not.toBeInstanceOf(Promise)
      clock.advance(HOUR)
    }
    const newer = await cache.check('http://a.test/', async () => answer(404))
    expect(newer.allows('/x')).toBe(true)
  })

  it('unreachable: nothing is allowed, and it is asked again after 30 s, 1 min … 5 min', async () => {
    const { cache, clock } = setUp()
    const get = vi.fn(async () => answer(500))
    for (const waitMs of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]) {
      const robots = await cache.check('http://a.test/', get)
      expect(robots.allows('/')).toBe(false)
      expect(robots.retryAt).toBe(clock.now() + waitMs)
      clock.advance(waitMs - 1)
      expect(cache.check('http://a.test/', get)).toBe(robots)
      clock.advance(1)
    }
    expect(get).toHaveBeenCalledTimes(6)
    expect((await cache.check('http://a.test/', async () => rules)).retryAt).toBeNull()
    clock.advance(25 * HOUR)
    const again = await cache.check('http://b.test/', get)
    expect(again.retryAt).toBe(clock.now() + 30_000)
  })

  it("a host that no page can be fetched from ends with the host's own error, remembered for a while", async () => {
    const { cache, clock } = setUp()
    const refused = new ShoalError('private_address', '')
    const get = vi.fn(() => Promise.reject(refused))
    await expect(cache.check('http://a.test/', get)).rejects.toBe(refused)
    await expect(cache.check('http://a.test/', get)).rejects.toBe(refused)
    expect(get).toHaveBeenCalledTimes(1)
    clock.advance(30_000)
    expect((await cache.check('http://a.test/', async () => rules)).allows('/y')).toBe(true)
  })

  it('a fetch that was given up by its owner is made again by the next caller', async () => {
    const { cache } = setUp()
    const stop = new ShoalError('aborted', '')
    const givenUp = vi.fn(() => Promise.reject(stop))
    const good = vi.fn(async () => rules)
    const owner = Promise.resolve(cache.check('http://a.test/', givenUp))
    const waiting = [cache.check('http://a.test/', good), cache.check('http://a.test/', good)]
    await expect(owner).rejects.toBe(stop)
    for (const robots of await Promise.all(waiting)) expect(robots.allows('/y')).toBe(true)
    expect(good).toHaveBeenCalledTimes(1)
  })

  it('forgets the oldest authorities, never one that is being fetched', async () => {
    const { cache } = setUp(3)
    const get = vi.fn(async () => rules)
    let release = (_: FetchResponse) => {}
    const slow = cache.check('http://slow.test/', () => new Promise((resolve) => (release = resolve)))
    for (let i = 0; i < 10; i++) await cache.check(`http://h${i}.test/`, get)
    release(rules)
    await slow
    expect(cache.check('http://slow.test/', get)).not.toBeInstanceOf(Promise)
    await cache.check('http://h0.test/', get)
    expect(get).toHaveBeenCalledTimes(11)
  })
})
