import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManualClock, systemClock, systemRandom } from '../../../src/clock.js'
import { openCrawl } from '../../../src/coordinator/crawls.js'
import { seedCrawl } from '../../../src/coordinator/seeding.js'
import { ShoalError } from '../../../src/errors.js'
import { silentLog } from '../../../src/log.js'
import type { Notes } from '../../../src/notes/notes.js'
import { vitalsKey } from '../../../src/observe/note-keys.js'
import { createMeter } from '../../../src/observe/vitals/meter.js'
import { parseVitals, readVitals } from '../../../src/observe/vitals/read-vitals.js'
import { RECENT_MS, SPENT, VITALS_MS, type Vitals } from '../../../src/observe/vitals/vitals.js'
import { createLocalWorkers } from '../../../src/run/workers/local-workers.js'
import { postVitals } from '../../../src/run/workers/post-vitals.js'
import { startWorker } from '../../../src/run/workers/start-worker.js'
import { reportVitals, watchLag } from '../../../src/run/workers/worker-vitals.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import { type Backends, openBackends } from '../../../src/wire/backends.js'
import { someVitals } from '../../observe/vitals/some-vitals.js'

let server: Server
let origin: string
let backends: Backends

beforeEach(async () => {
  server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    const links = Array.from({ length: 12 }, (_, i) => `<a href="/${i}">${i}</a>`).join('')
    if (request.url === '/robots.txt' || request.url === '/3') response.writeHead(404).end()
    else setTimeout(() => response.end(`<h1>${request.url}</h1>${links}`), 20)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  backends = await openBackends({ queue: 'memory:', store: 'memory:' })
})

afterEach(async () => {
  await backends.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

it('are true of a crawl, and its slots account for all of their time', async () => {
  const spider = spiderFromDefinition(
    defineSpider({
      name: 'told',
      start: [`${origin}/`],
      allowPrivate: ['127.0.0.1:*'],
      pace: { delay: '10ms', concurrency: 3 },
      routes: {
        page: { match: '**', follow: [{ links: 'a' }], handler: () => new Promise((go) => setTimeout(go, 10)) },
      },
    }),
  )
  const { crawl } = await openCrawl(backends, spider, { fresh: false, clock: systemClock, random: systemRandom })
  await seedCrawl(backends, spider, crawl, { clock: systemClock, signal: new AbortController().signal })
  const told: Vitals[] = []
  // Reports come more often, so that the test need not wait for them.
  const clock = {
    ...systemClock,
    after: (ms: number, fire: () => void) => systemClock.after(ms === VITALS_MS || ms === 1_000 ? 50 : ms, fire),
  }
  const startedAt = clock.mono()
  const worker = startWorker({
    ...{ id: 'w1', backends, spiders: [spider], concurrency: 4, clock, random: systemRandom, log: silentLog },
    onVitals: (vitals) => void told.push(vitals),
  })
  while ((await backends.frontier.stats(crawl)).state !== 'finished') await clock.sleep(20)
  await clock.sleep(120)
  const elapsed = clock.mono() - startedAt
  await worker.stop(1_000)
  await worker.ended

  const last = told.at(-1)
  if (last === undefined) throw new Error('it told nothing')
  expect(parseVitals(JSON.stringify(last))).toEqual(last)
  const stats = await backends.frontier.stats(crawl)
  expect(last).toMatchObject({ worker: 'w1', pages: stats.done, failed: 1, slots: 4, busy: 0, inFlight: [] })
  expect(last.errors).toEqual({ http_error: 1 })
  expect(last.statuses).toEqual({ 200: stats.done, 404: 1 })
  expect(last.bytes).toBeGreaterThan(stats.done * 100)
  const count = (step: keyof Vitals['took']) => last.took[step].counts.reduce((sum, one) => sum + one, 0)
  expect(count('fetch')).toBe(stats.done + 1)
  expect(count('handler')).toBe(stats.done)
  expect(count('leaseAge')).toBeGreaterThanOrEqual(stats.done + 1)
  for (const step of ['store', 'settle', 'lease'] as const) expect(count(step)).toBeGreaterThan(0)
  expect(last.took.handler.sumMs).toBeGreaterThan(stats.done * 8)

  // The last report is at most some fifty milliseconds older than the end.
  const spent = SPENT.reduce((sum, kind) => sum + last.spent[kind], 0)
  expect(spent).toBeLessThanOrEqual(elapsed * 4 * 1.02)
  expect(spent).toBeGreaterThan((elapsed - 200) * 4 * 0.95)
  expect(last.spent.fetch).toBeGreaterThan(stats.done * 15)
  expect(last.spent.handler).toBeGreaterThan(stats.done * 8)
  expect(last.spent.idle).toBeGreaterThan(0)
  expect(told.some(({ inFlight, busy }) => busy > 0 && inFlight.length > 0 && inFlight[0]?.crawl === crawl)).toBe(true)
  expect(last.loopBusy).toBeLessThanOrEqual(1)
  for (const key of ['rssBytes', 'heapBytes', 'heapLimitBytes', 'memoryLimitBytes', 'memoryFreeBytes'] as const)
    expect(last[key], key).toBeGreaterThan(0)
})

it('are on the notes for as long as the worker is there', async () => {
  const notes = postVitals(backends.notes, systemClock)
  notes.post(someVitals({ worker: 'w1' }))
  await expect.poll(async () => (await readVitals(backends.notes, ['w1', 'w2'])).get('w1')?.vitals.worker).toBe('w1')
  await notes.clear('w1')
  expect((await readVitals(backends.notes, ['w1'])).size).toBe(0)
})

it('of garbage, of another worker and of another version are left out', async () => {
  for (const [worker, text] of [
    ['w1', 'garbage'],
    ['w2', '{}'],
    ['w3', JSON.stringify(someVitals({ worker: 'w4' }))],
    ['w5', JSON.stringify({ ...someVitals({ worker: 'w5' }), took: {} })],
    ['w6', JSON.stringify({ ...someVitals({ worker: 'w6' }), errors: { 'shop.example/secret': 1 } })],
    ['w7', JSON.stringify({ ...someVitals({ worker: 'w7' }), news: 'of a later version' })],
  ] as const)
    await backends.notes.post(vitalsKey(worker), 'vitals', text, 60_000)
  const heard = await readVitals(backends.notes, ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7'])
  expect([...heard.keys()]).toEqual(['w7'])
})

it('do not pile up while the queue is away, and hold nobody up who leaves', async () => {
  const clock = new ManualClock()
  let posts = 0
  let answer: (error: Error) => void = () => {}
  const notes: Pick<Notes, 'post'> = {
    post: () => {
      posts++
      return new Promise((_, reject) => {
        answer = reject
      })
    },
  }
  const vitals = postVitals(notes, clock)
  for (let i = 0; i < 20; i++) vitals.post(someVitals({}))
  expect(posts).toBe(1)
  answer(new ShoalError('queue_down', 'it is away'))
  const postsAgain = () => {
    vitals.post(someVitals({}))
    return posts
  }
  await expect.poll(postsAgain).toBe(2)
  const clearing = vitals.clear('w')
  clock.advance(1_000)
  await clearing
})

it('of a worker that fell silent grow old in the eyes of its process', () => {
  const clock = new ManualClock()
  const localWorkers = createLocalWorkers(clock)
  localWorkers.received(someVitals({ worker: 'b' }))
  clock.advance(4_000)
  localWorkers.received(someVitals({ worker: 'a' }))
  expect(localWorkers.list().map(({ vitals, ageMs }) => [vitals.worker, ageMs])).toEqual([
    ['a', 0],
    ['b', 4_000],
  ])
  localWorkers.gone('b')
  expect(localWorkers.list()).toHaveLength(1)
})

it('tell how late the timers of the loop were', () => {
  const clock = new ManualClock()
  const lag = watchLag(clock)
  clock.advance(1_000)
  expect(lag.sinceLastReport()).toBe(0)
  lag.stop()
  let late = 0
  const sluggish = watchLag({ ...systemClock, mono: () => late, after: () => () => {} })
  late = 350
  expect(sluggish.sinceLastReport()).toBe(250)
})

it('tell what it was fifteen seconds ago', () => {
  const clock = new ManualClock()
  const meter = createMeter(4, clock)
  const told: Vitals[] = []
  const worker = {
    get reading() {
      return { ...meter.read([]), most: 4, because: 'most' as const, pages: clock.now() }
    },
    longestInFlight: [],
  }
  const telling = reportVitals('w', worker, clock, (vitals) => void told.push(vitals))
  expect(told.at(-1)?.earlier).toBeNull()
  for (let i = 0; i < 20; i++) clock.advance(VITALS_MS)
  const last = told.at(-1)
  expect(last?.earlier).toMatchObject({ at: (last?.at ?? 0) - RECENT_MS, pages: (last?.pages ?? 0) - RECENT_MS })
  clock.advance(500)
  telling.stop()
  // The last pages are reported, and nothing after that.
  const reports = told.length
  expect(told.at(-1)?.pages).toBe(clock.now())
  clock.advance(10 * VITALS_MS)
  expect(told).toHaveLength(reports)
})
