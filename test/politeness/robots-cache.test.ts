import { describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { FetchResponse } from '../../src/fetch/fetcher.js'
import { memoryNotes } from '../../src/notes/memory/memory-notes.js'
import { Busy } from '../../src/politeness/busy.js'
import { createRobotsCache, type GetRobots } from '../../src/politeness/robots-cache.js'

const HOUR = 3_600_000

function answer(status: number, body = ''): FetchResponse {
  return { url: '', status, headers: {}, cookies: [], body: Buffer.from(body), wireBytes: body.length, ms: 1 }
}
const rules = answer(200, 'User-agent: *\nDisallow: /x')

function setUp(maxEntries = 100) {
  const clock = new ManualClock()
  return { clock, cache: createRobotsCache({ clock, productToken: 'Shoal', notes: null, holder: '', maxEntries }) }
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

  it('asks for a file that was never read as often as the spider retries, says why, and never more than once a second', async () => {
    const clock = new ManualClock()
    const waits = [50, 5_000, 600_000]
    const retryWait = (failures: number) => waits[failures - 1] ?? 0
    const cache = createRobotsCache({ clock, productToken: 'Shoal', notes: null, holder: '', retryWait })
    const get = vi.fn(() => Promise.reject(new ShoalError('connect_error', 'connect ECONNREFUSED 10.0.0.1:80')))
    for (const waitMs of [1_000, 5_000, 300_000]) {
      const robots = await cache.check('http://a.test/', get)
      expect(robots).toMatchObject({ retryAt: clock.now() + waitMs, why: 'connect ECONNREFUSED 10.0.0.1:80' })
      clock.advance(waitMs)
    }
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

  it('answers busy to whoever found no slot, remembers nothing of it, and the next caller tries', async () => {
    const clock = new ManualClock()
    const notes = memoryNotes({ clock })
    const cache = createRobotsCache({ clock, productToken: 'Shoal', notes, holder: 'w1' })
    const busy = new Busy(60_000, 'a.test')
    const owner = cache.check('http://a.test/', async () => busy)
    const waiting = cache.check('http://a.test/', async () => rules)
    expect(await owner).toBe(busy)
    // At once: the claim on the fleet's note was given up as well.
    expect((await waiting).allows('/x')).toBe(false)
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

describe('robots cache over a notes', () => {
  /** So many workers, each with a cache of its own. */
  function fleet(count: number, options: { strict?: boolean; productToken?: string } = {}) {
    const clock = new ManualClock()
    const notes = memoryNotes({ clock })
    const worker = (holder: string, more = options) =>
      createRobotsCache({ clock, productToken: 'Shoal', notes, holder, ...more })
    return { clock, notes, worker, caches: Array.from({ length: count }, (_, nth) => worker(`w${nth}`)) }
  }
  const ask = (
    caches: readonly ReturnType<typeof createRobotsCache>[],
    get: GetRobots,
    nap: (ms: number) => Promise<void>,
  ) => Promise.all(caches.map((cache) => cache.check('http://a.test/x', get, nap)))

  it('twenty workers fetch a file once, and then none of them asks anybody', async () => {
    const { caches, clock, notes } = fleet(20)
    let release = (_: FetchResponse) => {}
    const get = vi.fn(() => new Promise<FetchResponse>((resolve) => (release = resolve)))
    const claims = vi.spyOn(notes, 'claim')
    const nap = vi.fn(async (ms: number) => {
      clock.advance(ms)
      if (clock.now() % 1000 > 500) release(rules)
    })
    const answers = await ask(caches, get, nap)
    expect(answers.map((robots) => robots.allows('/x'))).toEqual(Array(20).fill(false))
    expect(get).toHaveBeenCalledTimes(1)
    const asked = claims.mock.calls.length
    for (const cache of caches) expect(cache.check('http://a.test/y', get)).not.toBeInstanceOf(Promise)
    expect(claims).toHaveBeenCalledTimes(asked)
  })

  it('a worker that comes later takes what is left of the day', async () => {
    const { worker, clock } = fleet(0)
    const get = vi.fn(async () => rules)
    await worker('early').check('http://a.test/', get)
    clock.advance(23 * HOUR)
    const late = worker('late')
    expect((await late.check('http://a.test/', get)).allows('/x')).toBe(false)
    clock.advance(HOUR - 1)
    expect(late.check('http://a.test/', get)).not.toBeInstanceOf(Promise)
    expect(get).toHaveBeenCalledTimes(1)
    clock.advance(1)
    await late.check('http://a.test/', get)
    expect(get).toHaveBeenCalledTimes(2)
  })

  it('shares that a file cannot be read, and who may try again', async () => {
    const { caches, clock } = fleet(20)
    const get = vi.fn(async () => answer(500))
    const nap = async () => {}
    for (const [failures, waitMs] of [30_000, 60_000, 120_000].entries()) {
      const since = clock.now()
      for (const { retryAt, why } of await ask(caches, get, nap))
        expect({ retryAt, why }).toEqual({ retryAt: since + waitMs, why: 'the server answered 500' })
      expect(get).toHaveBeenCalledTimes(failures + 1)
      clock.advance(waitMs)
    }
    for (const robots of await ask(caches, async () => rules, nap)) expect(robots.retryAt).toBeNull()
  })

  it('counts failures from 1 again when nobody has asked for a while', async () => {
    const { worker, clock } = fleet(0)
    const get = vi.fn(async () => answer(500))
    const failures = async () => (await worker('w1').check('http://a.test/', get)).failures
    expect(await failures()).toBe(1)
    clock.advance(31_000)
    expect(await failures()).toBe(2)
    clock.advance(HOUR)
    expect(await failures()).toBe(1)
  })

  it('uses the old copy while the new one is fetched, and when it cannot be had, also one that another worker read', async () => {
    const { worker, clock } = fleet(0)
    await worker('reader').check('http://a.test/', async () => rules)
    clock.advance(25 * HOUR)
    let release = (_: FetchResponse) => {}
    const fetching = worker('w1').check('http://a.test/', () => new Promise((resolve) => (release = resolve)))
    const never = vi.fn(async () => rules)
    const w2 = worker('w2')
    expect((await w2.check('http://a.test/', never)).allows('/x')).toBe(false)
    release(answer(503))
    expect(await fetching).toMatchObject({ retryAt: null })
    clock.advance(1_000)
    expect((await w2.check('http://a.test/', never)).allows('/x')).toBe(false)
    expect(never).not.toHaveBeenCalled()
    clock.advance(30_000)
    await w2.check('http://a.test/', never)
    expect(never).toHaveBeenCalledTimes(1)
  })

  it('goes on when the worker that fetched it died, or gave up', async () => {
    const { worker, clock } = fleet(0)
    void worker('dead').check('http://a.test/', () => new Promise(() => {}))
    const get = vi.fn(async () => rules)
    const nap = async (ms: number) => clock.advance(ms)
    await worker('next').check('http://a.test/', get, nap)
    expect(get).toHaveBeenCalledTimes(1)
    const stop = new ShoalError('aborted', '')
    await expect(worker('quits').check('http://b.test/', () => Promise.reject(stop))).rejects.toBe(stop)
    const before = clock.now()
    await worker('next').check('http://b.test/', get, nap)
    expect(clock.now()).toBe(before)
  })

  it('waits no longer than its visit is wanted', async () => {
    const { worker } = fleet(0)
    void worker('slow').check('http://a.test/', () => new Promise(() => {}))
    const stop = new ShoalError('aborted', '')
    const waiting = worker('w2').check(
      'http://a.test/',
      async () => rules,
      () => Promise.reject(stop),
    )
    await expect(waiting).rejects.toBe(stop)
  })

  it("keeps each robot's part apart, and what one forbids itself from the others", async () => {
    const { worker } = fleet(0)
    const file = answer(
      200,
      'User-agent: Shoal\nDisallow: /\nUser-agent: *\nCrawl-delay: 2\nSitemap: https://a.test/s.xml',
    )
    const get = vi.fn(async () => file)
    await worker('w1').check('http://a.test/', get)
    const other = await worker('w2', { productToken: 'Other' }).check('http://a.test/', get)
    expect(other).toMatchObject({ crawlDelayMs: 2000, sitemaps: ['https://a.test/s.xml'] })
    expect(other.allows('/')).toBe(true)
    const read = await worker('w3').check('http://a.test/', get)
    expect(read).toMatchObject({ crawlDelayMs: null, sitemaps: ['https://a.test/s.xml'] })
    expect(read.allows('/')).toBe(false)
    expect(get).toHaveBeenCalledTimes(2)
    const refused = new ShoalError('private_address', '')
    await expect(worker('w4').check('http://b.test/', () => Promise.reject(refused))).rejects.toBe(refused)
    expect((await worker('w5').check('http://b.test/', async () => rules)).allows('/y')).toBe(true)
  })

  it('takes a closed door for a no when it is strict', async () => {
    const { worker } = fleet(0)
    const get = vi.fn(async () => answer(403))
    expect((await worker('w1').check('http://a.test/', get)).allows('/')).toBe(true)
    const strict = await worker('w2', { strict: true }).check('http://a.test/', get)
    expect(strict).toMatchObject({ retryAt: null })
    expect(strict.allows('/')).toBe(false)
    expect(get).toHaveBeenCalledTimes(1)
  })

  it('says what it knows when the notes is away, and reads no note that it cannot understand', async () => {
    const { worker, notes } = fleet(0)
    vi.spyOn(notes, 'post').mockRejectedValueOnce(new ShoalError('queue_down', ''))
    expect((await worker('w1').check('http://a.test/', async () => rules)).allows('/x')).toBe(false)
    await notes.claim('robots Shoal http://b.test', 'later version', 0, 1000)
    await notes.post('robots Shoal http://b.test', 'later version', '{"found":"poem"}', HOUR)
    expect((await worker('w2').check('http://b.test/', async () => rules)).allows('/x')).toBe(false)
  })
})
