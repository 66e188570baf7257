import fc from 'fast-check'
import { expect } from 'vitest'
import type {
  CrawlSpec,
  HostReport,
  HostSettings,
  LeaseRequest,
  Outcome,
  Release,
} from '../../src/frontier/frontier.js'
import type { Link } from '../../src/url/link.js'
import { linkTo, specOf } from '../contract/frontier-fixtures.js'
import { type Both, type Call, compareAll, leaseView, same, type World } from './world.js'

const CRAWLS = ['c1', 'c2']
export const WORKERS = ['w1', 'w2', 'w3']
const HOSTS = ['a.test', 'b.test', 'far.test']
/** A request took, and its response waited for a busy worker. */
const TOOK: readonly Pick<Release, 'elapsedMs' | 'latencyMs'>[] = [
  ...[0, 10, 500, -3].map((elapsedMs) => ({ elapsedMs })),
  ...[
    { elapsedMs: 500, latencyMs: 2 },
    { elapsedMs: 10, latencyMs: -3 },
  ],
]

/** Mostly a recent lease that is still held, sometimes any recent one. */
function pick(world: World, nth: number): Both | undefined {
  const open = world.leases.filter((lease) => !lease.over)
  const recent = (nth < 7 && open.length > 0 ? open : world.leases).slice(-7)
  return recent.at(nth % Math.max(1, recent.length))
}

type Command = fc.AsyncCommand<object, World>

function command(text: string, run: (world: World) => Promise<unknown>): Command {
  return {
    check: () => true,
    toString: () => text,
    run: async (_, world) => {
      await run(world)
      await compareAll(world)
    },
  }
}

/** A command about a lease that was granted at some time: held, settled, lost, whatever became of it. */
function onLease(text: string, nth: number, run: (world: World, lease: Both) => Promise<unknown>): Command {
  return command(`${text} of lease ${nth}`, async (world) => {
    const lease = pick(world, nth)
    if (lease !== undefined) await run(world, lease)
  })
}

export const crawlArb = fc.constantFrom(...CRAWLS)
export const workerArb = fc.constantFrom(...WORKERS)
const hostArb = fc.constantFrom(...HOSTS)
export const nthArb = fc.nat(9)
export const spidersArb = fc.constantFrom(['books'], ['books', 'films'], ['films'])

/** Most workers state it; many pages at once, so that a turn begins within the few calls of a sequence. */
const busyArb = fc.record({ busy: fc.constantFrom(undefined, 0, 0, 1, 2, 40) })

/** Of a worker with a development cache. */
const withoutPermitArb = fc.constantFrom<Pick<LeaseRequest, 'withoutPermit'>>({}, {}, {}, { withoutPermit: true })

export const limitsArb = fc.record(
  {
    delayMs: fc.constantFrom(0, 0, 0, 100, 250),
    concurrency: fc.constantFrom(1, 2, 3, 9),
    rate: fc.record({ count: fc.constantFrom(1, 5), perMs: fc.constant(1000), burst: fc.integer({ min: 1, max: 3 }) }),
    adaptive: fc.record({ target: fc.constantFrom(1, 2), maxDelayMs: fc.constantFrom(150, 2000) }),
  },
  { requiredKeys: ['delayMs', 'concurrency'] },
)

const specChangesArb = fc.record({
  order: fc.constantFrom('priority', 'priority', 'fifo', 'lifo'),
  limits: limitsArb,
  routeLimits: fc.constantFrom<CrawlSpec['routeLimits']>({}, { slow: { delayMs: 250, concurrency: 1 } }),
  keyLimits: fc.constantFrom<CrawlSpec['keyLimits']>(undefined, undefined, {
    'a.test': { delayMs: 50, concurrency: 2, adaptive: { target: 2, maxDelayMs: 400 } },
  }),
  visibilityMs: fc.constantFrom(1000, 60_000),
  agingMs: fc.constantFrom(10, 1000),
  maxReclaims: fc.integer({ min: 0, max: 2 }),
  maxPending: fc.constantFrom(4, 1000, 1000),
  overflow: fc.constantFrom('refuse', 'keep'),
  budget: fc.record(
    { pages: fc.constant(8), pagesPerHost: fc.constant(5), bytes: fc.constant(300) },
    { requiredKeys: [] },
  ),
}) satisfies fc.Arbitrary<Partial<CrawlSpec>>

export const specsArb = fc
  .tuple(specChangesArb, specChangesArb)
  .map(([one, two]) => [specOf({ ...one, id: 'c1' }), specOf({ ...two, id: 'c2', spider: 'films' })])

const linkArb: fc.Arbitrary<Link> = fc
  .record({
    host: fc.constantFrom('a.test', 'a.test', 'b.test'),
    path: fc.nat(7),
    route: fc.constantFrom('page', 'slow'),
    priority: fc.constantFrom(0, 0, 1, 5, -100, 100),
    delayMs: fc.constantFrom(undefined, undefined, undefined, 100),
  })
  .map(({ host, path, route, priority, delayMs }) =>
    linkTo(`${host}/${path}`, { route, priority, ...(delayMs === undefined ? {} : { delayMs }) }),
  )
const linksArb = fc.array(linkArb, { maxLength: 6, size: 'max' })
export const seedsArb = fc.array(linkArb, { minLength: 1, maxLength: 10, size: 'max' })

export const failureArb = fc
  .constantFrom('server_error', 'timeout', 'http_error')
  .map((code) => ({ code, message: `it was ${code}` }) as const)
export const afterArb = fc.constantFrom(0, 0, 50, 1000)

/** One example for each reason: which of two came first is not the same over shards. */
const filteredArb = fc.uniqueArray(
  fc.record({
    reason: fc.constantFrom('session_id' as const, 'trap_calendar' as const),
    count: fc.integer({ min: 1, max: 3 }),
    example: fc.constantFrom(null, { url: 'https://a.test/?x=1', became: 'https://a.test/' }),
  }),
  { selector: ({ reason }) => reason, maxLength: 2 },
)

const countsArb = fc.uniqueArray(
  fc.record({ name: fc.constantFrom('sold out', 'größer', '(other)'), count: fc.integer({ min: 1, max: 3 }) }),
  { selector: ({ name }) => name, maxLength: 2 },
)

const outcomeArb: fc.Arbitrary<Outcome> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record(
      { kind: fc.constant('done'), links: linksArb, bytes: fc.nat(100), filtered: filteredArb, counts: countsArb },
      { requiredKeys: ['kind', 'links', 'bytes'] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('retry'),
      afterMs: afterArb,
      failure: failureArb,
      countsAsAttempt: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('dead'), failure: failureArb }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('skipped'), failure: failureArb }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('back'), afterMs: afterArb }) },
)

export const reportArb: fc.Arbitrary<HostReport> = fc.oneof(
  fc.record({ kind: fc.constantFrom('ok', 'ok', 'failed') }),
  fc.record({ kind: fc.constant('throttled'), retryAfterMs: fc.constantFrom(null, 0, -5, 500, 1e12) }),
  fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(0, -5, 300, 700, 1e12) }),
)

export const settingsArb: fc.Arbitrary<HostSettings> = fc.record(
  {
    delayMs: fc.constantFrom(null, 0, 500),
    concurrency: fc.constantFrom(null, 0, 1, 4),
    floorMs: fc.constantFrom(null, 0, 300),
    blocked: fc.constantFrom(null, false, false, true),
  },
  { requiredKeys: [] },
)

export const steerArb = fc.constantFrom('promote', 'promote', 'retry', 'remove')

export const deadFilterArb = fc.record(
  {
    code: fc.constantFrom('server_error', 'poison'),
    host: fc.constantFrom('a.test', 'b.test'),
    fp: linkArb.map((link) => link.fp),
  },
  { requiredKeys: [] },
)

async function leaseOn(world: World, request: Omit<LeaseRequest, 'seq'>): Promise<void> {
  const { worker, want } = request
  const seq = world.seqs.get(worker) ?? 0
  const replies = await same(
    world,
    (frontier) => frontier.lease({ ...request, seq }),
    (reply) => ({ leases: reply.leases.map(leaseView), drain: want > 0 && reply.drain }),
  )
  if (replies === null) return
  expect(replies.driver.idleMs).toBeGreaterThanOrEqual(1)
  expect(replies.driver.idleMs).toBeLessThanOrEqual(1000)
  for (const [i, model] of replies.model.leases.entries()) {
    const driver = replies.driver.leases[i]
    if (driver !== undefined) world.leases.push({ model, driver, over: false })
  }
}

function remembered<T extends Call>(world: World, method: 'settle' | 'release' | 'extend', call: T): T {
  world.last.set(method, call)
  return call
}

/** Two leases settled in one call; the newest settlement of a link is the one whose repeat is remembered. */
async function settleOn(world: World, settlements: readonly { lease: Both; outcome: Outcome }[]): Promise<void> {
  const answers = await same(
    world,
    remembered(world, 'settle', (frontier, side) =>
      frontier.settle(settlements.map(({ lease, outcome }) => ({ lease: lease[side], outcome }))),
    ),
  )
  for (const [i, { lease }] of settlements.entries()) {
    lease.over = true
    if (!answers?.model[i]) continue
    const others = world.leases.filter(
      (other) =>
        other.model.token === lease.model.token ||
        other.model.link.fp !== lease.model.link.fp ||
        other.model.crawl !== lease.model.crawl ||
        BigInt(other.model.epoch) > BigInt(lease.model.epoch),
    )
    world.leases.splice(0, world.leases.length, ...others)
  }
}

const text = (value: unknown) => JSON.stringify(value)

/** How often each command comes: a sequence without leases and settlements shows little. */
const weighted: readonly (readonly [times: number, arb: fc.Arbitrary<Command>])[] = [
  [
    3,
    fc.tuple(crawlArb, linksArb).map(([crawl, links]) => {
      const shown = links.map((link) => [link.url, link.priority, link.route, link.delayMs])
      return command(`add(${crawl}, ${text(shown)})`, (world) => same(world, (frontier) => frontier.add(crawl, links)))
    }),
  ],
  [
    1,
    crawlArb.map((crawl) => command(`seeded(${crawl})`, (world) => same(world, (frontier) => frontier.seeded(crawl)))),
  ],
  [
    12,
    fc
      .tuple(workerArb, fc.constantFrom(0, 1, 2, 4, 4, 4), spidersArb, busyArb, withoutPermitArb)
      .map(([worker, want, spiders, { busy }, withoutPermit]) =>
        command(`lease(${worker}, ${want}, ${spiders}, busy ${busy}, ${text(withoutPermit)})`, async (world) => {
          world.seqs.set(worker, (world.seqs.get(worker) ?? 0) + 1)
          const how = world.driver.can.leasesWithoutPermit ? withoutPermit : {}
          await leaseOn(world, { worker, want, spiders, ...(busy === undefined ? {} : { busy }), ...how })
        }),
      ),
  ],
  [
    2,
    fc.tuple(workerArb, spidersArb).map(([worker, spiders]) =>
      command(`lease(${worker}) again`, async (world) => {
        const seq = world.seqs.get(worker)
        if (seq === undefined) return
        await same(
          world,
          (frontier) => frontier.lease({ worker, seq, want: 3, spiders }),
          (reply) => reply.leases.map(leaseView),
        )
      }),
    ),
  ],
  [
    6,
    fc
      .tuple(nthArb, outcomeArb)
      .map(([nth, outcome]) =>
        onLease(`settle(${text(outcome)})`, nth, (world, lease) => settleOn(world, [{ lease, outcome }])),
      ),
  ],
  [
    4,
    fc.tuple(nthArb, nthArb, outcomeArb, outcomeArb).map(([nth, other, first, second]) =>
      onLease(`settle(${text(first)}, and ${other}: ${text(second)})`, nth, async (world, lease) => {
        const also = pick(world, other)
        // A repeat is remembered only until the link is settled anew, in the same call too.
        if (also === undefined || also.model.link.fp === lease.model.link.fp) return
        await settleOn(world, [
          { lease, outcome: first },
          { lease: also, outcome: second },
        ])
      }),
    ),
  ],
  [
    1,
    fc.tuple(nthArb, crawlArb, fc.boolean()).map(([nth, crawl, nonsense]) =>
      onLease(`settle with ${nonsense ? 'a token of nobody' : crawl}`, nth, (world, lease) =>
        same(world, (frontier, side) => {
          // A token of the right crawl is the business of the other commands.
          const foreign = nonsense || lease.model.crawl === crawl ? { token: 'nonsense' } : { crawl }
          const outcome = { kind: 'done', links: [], bytes: 1 } as const
          return frontier.settle([{ lease: { ...lease[side], ...foreign }, outcome }])
        }),
      ),
    ),
  ],
  [
    5,
    fc.tuple(nthArb, fc.option(hostArb), fc.constantFrom(...TOOK), reportArb).map(([nth, host, took, report]) =>
      onLease(`release(${host ?? 'own host'}, ${text(took)}, ${text(report)})`, nth, (world, lease) =>
        same(
          world,
          remembered(world, 'release', (frontier, side) =>
            frontier.release([{ lease: lease[side], host: host ?? lease.model.link.host, ...took, report }]),
          ),
        ),
      ),
    ),
  ],
  [
    4,
    fc.tuple(nthArb, fc.option(hostArb)).map(([nth, host]) =>
      onLease(`permit(${host ?? 'own host'})`, nth, async (world, lease) => {
        const permits = await same(
          world,
          (frontier, side) => frontier.permit(lease[side], host ?? lease.model.link.host),
          (permit) => (permit.ok ? permit : { lost: permit.lost, waits: permit.waitMs > 0 }),
        )
        if (permits !== null && !permits.model.ok) lease.over = permits.model.lost
      }),
    ),
  ],
  [
    2,
    fc.tuple(nthArb, nthArb, workerArb).map(([one, two, worker]) =>
      command(`extend(${worker}, leases ${one} and ${two})`, async (world) => {
        const pair = [pick(world, one), pick(world, two)].flatMap((lease) => lease ?? [])
        await same(
          world,
          remembered(world, 'extend', async (frontier, side) => {
            const tokens = pair.map((lease) => lease[side].token)
            const lost = await frontier.extend(worker, tokens)
            return tokens.map((token) => lost.includes(token))
          }),
        )
      }),
    ),
  ],
  [
    4,
    fc.constantFrom('settle', 'settle', 'release', 'extend').map((method) =>
      command(`the last ${method} again`, async (world) => {
        const call = world.last.get(method)
        if (call !== undefined) await same(world, call)
      }),
    ),
  ],
  [1, fc.constant(command('disturb', (world) => world.disturb()))],
  [3, fc.constantFrom(1, 100).map((limit) => command(`reap(${limit})`, (world) => same(world, (f) => f.reap(limit))))],
  [
    2,
    fc
      .tuple(workerArb, fc.constantFrom(2_000, 10_000))
      .map(([worker, ms]) => command(`beat(${worker}, ${ms})`, (world) => same(world, (f) => f.beat(worker, ms)))),
  ],
  [
    3,
    fc.tuple(fc.constantFrom(1, 3, 10), fc.constantFrom(1, 100)).map(([seconds, limit]) =>
      command(`watch for ${seconds} s, reap(${limit})`, async (world) => {
        for (let second = 0; second < seconds; second++) {
          world.clock.advance(1_000)
          await same(world, (f) => f.reap(limit))
        }
      }),
    ),
  ],
  [6, workerArb.map((worker) => command(`forfeit(${worker})`, (world) => same(world, (f) => f.forfeit(worker))))],
  [
    8,
    fc
      .constantFrom(1, 50, 100, 250, 1000, 1000, 5000, 60_000)
      .map((ms) => command(`advance(${ms})`, async ({ clock }) => clock.advance(ms))),
  ],
  [
    2,
    fc
      .tuple(crawlArb, fc.constantFrom('running', 'running', 'running', 'running', 'paused', 'paused', 'cancelled'))
      .map(([crawl, state]) =>
        command(`setState(${crawl}, ${state})`, (world) => same(world, (frontier) => frontier.setState(crawl, state))),
      ),
  ],
  [
    1,
    fc
      .tuple(hostArb, settingsArb)
      .map(([host, settings]) =>
        command(`setHost(${host}, ${text(settings)})`, (world) => same(world, (f) => f.setHost(host, settings))),
      ),
  ],
  [
    2,
    fc
      .tuple(crawlArb, deadFilterArb)
      .map(([crawl, filter]) =>
        command(`replay(${crawl}, ${text(filter)})`, (world) => same(world, (f) => f.replay(crawl, filter))),
      ),
  ],
  [
    1,
    fc
      .tuple(crawlArb, deadFilterArb)
      .map(([crawl, filter]) =>
        command(`purge(${crawl}, ${text(filter)})`, (world) => same(world, (f) => f.purge(crawl, filter))),
      ),
  ],
  [
    5,
    fc
      .tuple(crawlArb, linkArb, steerArb)
      .map(([crawl, { url, fp, host }, order]) =>
        command(`steer(${crawl}, ${url}, ${order})`, (world) => same(world, (f) => f.steer(crawl, fp, host, order))),
      ),
  ],
  [
    1,
    fc.tuple(fc.nat(1), fc.constantFrom('h1', 'h2'), fc.nat(9), limitsArb).map(([nth, spiderHash, gen, limits]) =>
      command(`open(c${nth + 1}, ${spiderHash}, gen ${gen}, ${text(limits)})`, async (world) => {
        const spec = world.specs[nth]
        if (spec !== undefined) await same(world, (frontier) => frontier.open({ ...spec, spiderHash, gen, limits }))
      }),
    ),
  ],
  [
    1,
    fc.nat(1).map((nth) =>
      command(`remove(c${nth + 1}), and open it again`, async (world) => {
        const spec = world.specs[nth]
        if (spec === undefined) return
        await same(world, (frontier) => frontier.remove(spec.id))
        await same(world, (frontier) => frontier.open(spec))
      }),
    ),
  ],
  [
    1,
    fc.tuple(crawlArb, linkArb).map(([crawl, link]) =>
      command(`explain(${crawl}, ${link.url})`, async (world) => {
        const now = world.clock.now()
        // A driver need not notice links that fell due before somebody leases: the position would not count them.
        const delayed = await world.driver.links({ crawl, state: 'delayed', limit: 100 })
        const noticed = delayed.every((other) => (other.dueAt ?? 0) > now)
        await same(
          world,
          (frontier) => frontier.explain(crawl, link.fp),
          (where) => {
            if (where.state === 'unknown') return where
            const { state, crawlState, link } = where
            if (link === null || (state === 'done' && world.driver.can.ended === 'counted'))
              return { state, crawlState }
            return { crawlState, url: link.url, position: noticed ? where.position : null }
          },
        )
      }),
    ),
  ],
]

export const commandArbs = weighted.flatMap(([times, arb]) => Array.from({ length: times }, () => arb))
