import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type {
  CrawlSpec,
  Frontier,
  HostInfo,
  HostReport,
  HostSettings,
  Lease,
  LinkInfo,
  Outcome,
} from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'
import type { Link } from '../../src/url/link.js'
import { counterFaults, linkTo, type MakeFrontier, scan, specOf } from '../contract/frontier-fixtures.js'

const CRAWLS = ['c1', 'c2']
const WORKERS = ['w1', 'w2', 'w3']
const HOSTS = ['a.test', 'b.test', 'far.test']

/** The model and the driver under test, side by side, on one clock. */
interface World {
  readonly clock: ManualClock
  readonly model: Frontier
  readonly driver: Frontier
  readonly specs: readonly CrawlSpec[]
  readonly seqs: Map<string, number>
  /** Leases ever granted: what one of them calls a token the other calls otherwise. Newest last. */
  readonly leases: { model: Lease; driver: Lease }[]
}

type Both = { model: Lease; driver: Lease }

/**
 * Drives the model and another driver with the same sequences of calls and compares every answer, and after every call the counters, a
 * full scan, hosts and workers. Left free: `idleMs`, messages, and whether a link that fell due is shown as delayed or queued.
 */
export function frontierProperties(name: string, makeDriver: MakeFrontier, options: { runs: number }): void {
  describe(`frontier properties: ${name}`, () => {
    it(`does what the model does, over ${options.runs} sequences`, {
      timeout: 20_000 + options.runs * 500,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(
          specsArb,
          fc.commands(commandArbs, { maxCommands: 60, size: 'max' }),
          async (specs, commands) => {
            const clock = new ManualClock()
            const { frontier: driver, close } = await makeDriver(clock)
            const model = new MemoryFrontier({ clock })
            try {
              const world: World = { clock, model, driver, specs, seqs: new Map(), leases: [] }
              for (const spec of specs) await same(world, (frontier) => frontier.open(spec))
              await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
            } finally {
              await close()
            }
          },
        ),
        { numRuns: options.runs, endOnFailure: false },
      )
    })
  })
}

/** Makes the call on both and compares the answers, or the codes of the errors. */
async function same<T>(
  world: World,
  call: (frontier: Frontier, side: 'model' | 'driver') => Promise<T>,
  view: (answer: T) => unknown = (answer) => answer,
): Promise<{ model: T; driver: T } | null> {
  const attempt = async (side: 'model' | 'driver'): Promise<{ answer: T } | { code: string }> => {
    try {
      return { answer: await call(world[side], side) }
    } catch (error) {
      if (error instanceof ShoalError) return { code: error.code }
      throw error
    }
  }
  const model = await attempt('model')
  const driver = await attempt('driver')
  if ('answer' in model && 'answer' in driver) {
    expect(view(driver.answer)).toEqual(view(model.answer))
    return { model: model.answer, driver: driver.answer }
  }
  expect(driver).toEqual(model)
  return null
}

/** Everything that can be seen of both must be the same. */
async function compareAll(world: World): Promise<void> {
  const { clock, driver } = world
  const opened = await same(world, (frontier) => frontier.crawls())
  for (const { id } of opened?.model ?? []) {
    const scans = await same(
      world,
      (frontier) => scan(frontier, id),
      (links) => links.map((link) => linkView(link, clock.now())),
    )
    if (scans === null) continue
    expect(counterFaults(await driver.stats(id), scans.driver)).toEqual([])
    await same(
      world,
      (frontier) => frontier.stats(id),
      ({ queued, delayed, rate: _, ...stats }) => ({ ...stats, pending: queued + delayed }),
    )
    await same(
      world,
      (frontier) => frontier.hosts(id, { limit: 10 }),
      (hosts) => hosts.map((host) => hostView(host, clock.now())),
    )
    await same(world, (frontier) => frontier.deadByError(id))
  }
  await same(world, (frontier) => frontier.workers())
}

function linkView({ cursor: _, ...link }: LinkInfo, now: number) {
  const due = link.state === 'delayed' && link.dueAt !== null && link.dueAt <= now
  return {
    ...link,
    ...(due ? { state: 'queued', dueAt: null } : {}),
    failures: link.failures.map(({ code, at }) => ({ code, at })),
  }
}

function hostView(host: HostInfo, now: number) {
  const latencyMs = host.latencyMs === null ? null : Math.round(host.latencyMs * 1000)
  return { ...host, latencyMs, nextAt: Math.max(now, Math.ceil(host.nextAt)) }
}

function leaseView({ token: _, link, ...lease }: Lease) {
  return { ...lease, url: link.url, priority: link.priority, route: link.route }
}

function pick(world: World, nth: number): Both | undefined {
  return world.leases.at(-1 - (nth % Math.min(10, Math.max(1, world.leases.length))))
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
  return command(`${text} of lease −${nth}`, async (world) => {
    const lease = pick(world, nth)
    if (lease !== undefined) await run(world, lease)
  })
}

const crawlArb = fc.constantFrom(...CRAWLS)
const workerArb = fc.constantFrom(...WORKERS)
const hostArb = fc.constantFrom(...HOSTS)
const nthArb = fc.nat(9)
const spidersArb = fc.constantFrom(['books'], ['books', 'films'], ['films'])

const limitsArb = fc.record(
  {
    delayMs: fc.constantFrom(0, 0, 100, 250),
    concurrency: fc.integer({ min: 1, max: 3 }),
    rate: fc.record({ count: fc.constantFrom(1, 5), perMs: fc.constant(1000), burst: fc.integer({ min: 1, max: 3 }) }),
  },
  { requiredKeys: ['delayMs', 'concurrency'] },
)

const specChangesArb = fc.record({
  order: fc.constantFrom('priority', 'priority', 'fifo', 'lifo'),
  limits: limitsArb,
  routeLimits: fc.constantFrom<CrawlSpec['routeLimits']>({}, { slow: { delayMs: 250, concurrency: 1 } }),
  visibilityMs: fc.constantFrom(1000, 60_000),
  agingMs: fc.constantFrom(10, 1000),
  maxReclaims: fc.integer({ min: 0, max: 2 }),
  maxPending: fc.constantFrom(4, 1000),
  overflow: fc.constantFrom('refuse', 'keep'),
  budget: fc.record(
    { pages: fc.constant(8), pagesPerHost: fc.constant(5), bytes: fc.constant(300) },
    { requiredKeys: [] },
  ),
}) satisfies fc.Arbitrary<Partial<CrawlSpec>>

const specsArb = fc
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

const failureArb = fc
  .constantFrom('server_error', 'timeout', 'http_error')
  .map((code) => ({ code, message: `it was ${code}` }) as const)
const afterArb = fc.constantFrom(0, 0, 50, 1000)

const outcomeArb: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('done'), links: linksArb, bytes: fc.nat(100) }) },
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

const reportArb: fc.Arbitrary<HostReport> = fc.oneof(
  fc.record({ kind: fc.constantFrom('ok', 'ok', 'failed') }),
  fc.record({ kind: fc.constant('throttled'), retryAfterMs: fc.constantFrom(null, 0, -5, 500, 1e12) }),
)

const settingsArb: fc.Arbitrary<HostSettings> = fc.record(
  {
    delayMs: fc.constantFrom(null, 0, 500),
    concurrency: fc.constantFrom(null, 1, 4),
    floorMs: fc.constantFrom(null, 0, 300),
  },
  { requiredKeys: [] },
)

const deadFilterArb = fc.record(
  {
    code: fc.constantFrom('server_error', 'poison'),
    host: fc.constantFrom('a.test', 'b.test'),
    fp: linkArb.map((link) => link.fp),
  },
  { requiredKeys: [] },
)

async function leaseOn(world: World, worker: string, want: number, spiders: readonly string[]): Promise<void> {
  const seq = world.seqs.get(worker) ?? 0
  const replies = await same(
    world,
    (frontier) => frontier.lease({ worker, seq, want, spiders }),
    (reply) => ({ leases: reply.leases.map(leaseView), drain: want > 0 && reply.drain }),
  )
  if (replies === null) return
  expect(replies.driver.idleMs).toBeGreaterThanOrEqual(1)
  expect(replies.driver.idleMs).toBeLessThanOrEqual(1000)
  for (const [i, model] of replies.model.leases.entries()) {
    const driver = replies.driver.leases[i]
    if (driver !== undefined) world.leases.push({ model, driver })
  }
}

/** Two leases settled in one call; the newest settlement of a link is the one whose repeat is remembered. */
async function settleOn(world: World, settlements: readonly { lease: Both; outcome: Outcome }[]): Promise<void> {
  const answers = await same(world, (frontier, side) =>
    frontier.settle(settlements.map(({ lease, outcome }) => ({ lease: lease[side], outcome }))),
  )
  for (const [i, { lease }] of settlements.entries()) {
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

const commandArbs: fc.Arbitrary<Command>[] = [
  fc
    .tuple(crawlArb, linksArb)
    .map(([crawl, links]) =>
      command(
        `add(${crawl}, ${text(links.map((link) => [link.url, link.priority, link.route, link.delayMs]))})`,
        (world) => same(world, (frontier) => frontier.add(crawl, links)),
      ),
    ),
  crawlArb.map((crawl) => command(`seeded(${crawl})`, (world) => same(world, (frontier) => frontier.seeded(crawl)))),
  // Three of these, because a sequence without leases shows little.
  ...[1, 2, 3].map(() =>
    fc.tuple(workerArb, fc.nat(4), spidersArb).map(([worker, want, spiders]) =>
      command(`lease(${worker}, ${want}, ${spiders})`, async (world) => {
        world.seqs.set(worker, (world.seqs.get(worker) ?? 0) + 1)
        await leaseOn(world, worker, want, spiders)
      }),
    ),
  ),
  fc.tuple(workerArb, spidersArb).map(([worker, spiders]) =>
    command(`lease(${worker}) again`, async (world) => {
      if (!world.seqs.has(worker)) return
      await same(
        world,
        (frontier) => frontier.lease({ worker, seq: world.seqs.get(worker) ?? 0, want: 3, spiders }),
        (reply) => reply.leases.map(leaseView),
      )
    }),
  ),
  ...[1, 2].map(() =>
    fc
      .tuple(nthArb, outcomeArb)
      .map(([nth, outcome]) =>
        onLease(`settle(${text(outcome)})`, nth, (world, lease) => settleOn(world, [{ lease, outcome }])),
      ),
  ),
  fc.tuple(nthArb, nthArb, outcomeArb, outcomeArb).map(([nth, other, first, second]) =>
    onLease(`settle(${text(first)}, and −${other}: ${text(second)})`, nth, async (world, lease) => {
      const also = pick(world, other)
      if (also === undefined || also === lease) return
      await settleOn(world, [
        { lease, outcome: first },
        { lease: also, outcome: second },
      ])
    }),
  ),
  fc.tuple(nthArb, crawlArb, fc.boolean()).map(([nth, crawl, nonsense]) =>
    onLease(`settle with ${nonsense ? 'a token of nobody' : crawl}`, nth, (world, lease) =>
      same(world, (frontier, side) => {
        // A token of the right crawl is the business of the other commands.
        const foreign = nonsense || lease.model.crawl === crawl ? { token: 'nonsense' } : { crawl }
        return frontier.settle([
          { lease: { ...lease[side], ...foreign }, outcome: { kind: 'done', links: [], bytes: 1 } },
        ])
      }),
    ),
  ),
  fc
    .tuple(nthArb, fc.option(hostArb), fc.constantFrom(0, 10, 500, -3), reportArb)
    .map(([nth, host, elapsedMs, report]) =>
      onLease(`release(${host ?? 'own host'}, ${elapsedMs}, ${text(report)})`, nth, (world, lease) =>
        same(world, (frontier, side) =>
          frontier.release([{ lease: lease[side], host: host ?? lease.model.link.host, elapsedMs, report }]),
        ),
      ),
    ),
  fc.tuple(nthArb, fc.option(hostArb)).map(([nth, host]) =>
    onLease(`permit(${host ?? 'own host'})`, nth, (world, lease) =>
      same(
        world,
        (frontier, side) => frontier.permit(lease[side], host ?? lease.model.link.host),
        (permit) => (permit.ok ? permit : { lost: permit.lost, waits: permit.waitMs > 0 }),
      ),
    ),
  ),
  fc.tuple(nthArb, nthArb, workerArb).map(([one, two, worker]) =>
    command(`extend(${worker}, leases −${one} and −${two})`, async (world) => {
      const pair = [pick(world, one), pick(world, two)].flatMap((lease) => lease ?? [])
      await same(world, async (frontier, side) => {
        const tokens = pair.map((lease) => lease[side].token)
        const lost = await frontier.extend(worker, tokens)
        return tokens.map((token) => lost.includes(token))
      })
    }),
  ),
  fc
    .constantFrom(1, 100)
    .map((limit) => command(`reap(${limit})`, (world) => same(world, (frontier) => frontier.reap(limit)))),
  workerArb.map((worker) =>
    command(`forfeit(${worker})`, (world) => same(world, (frontier) => frontier.forfeit(worker))),
  ),
  ...[1, 2].map(() =>
    fc
      .constantFrom(1, 50, 100, 250, 1000, 5000, 60_000)
      .map((ms) => command(`advance(${ms})`, async ({ clock }) => clock.advance(ms))),
  ),
  fc
    .tuple(crawlArb, fc.constantFrom('running', 'running', 'paused', 'cancelled'))
    .map(([crawl, state]) =>
      command(`setState(${crawl}, ${state})`, (world) => same(world, (frontier) => frontier.setState(crawl, state))),
    ),
  fc
    .tuple(hostArb, settingsArb)
    .map(([host, settings]) =>
      command(`setHost(${host}, ${text(settings)})`, (world) =>
        same(world, (frontier) => frontier.setHost(host, settings)),
      ),
    ),
  fc
    .tuple(crawlArb, deadFilterArb)
    .map(([crawl, filter]) =>
      command(`replay(${crawl}, ${text(filter)})`, (world) =>
        same(world, (frontier) => frontier.replay(crawl, filter)),
      ),
    ),
  fc
    .tuple(crawlArb, deadFilterArb)
    .map(([crawl, filter]) =>
      command(`purge(${crawl}, ${text(filter)})`, (world) => same(world, (frontier) => frontier.purge(crawl, filter))),
    ),
  fc.tuple(fc.nat(1), fc.constantFrom('h1', 'h2'), fc.nat(9), limitsArb).map(([nth, spiderHash, gen, limits]) =>
    command(`open(c${nth + 1}, ${spiderHash}, gen ${gen}, ${text(limits)})`, async (world) => {
      const spec = world.specs[nth]
      if (spec !== undefined) await same(world, (frontier) => frontier.open({ ...spec, spiderHash, gen, limits }))
    }),
  ),
  fc.nat(1).map((nth) =>
    command(`remove(c${nth + 1}), and open it again`, async (world) => {
      const spec = world.specs[nth]
      if (spec === undefined) return
      await same(world, (frontier) => frontier.remove(spec.id))
      await same(world, (frontier) => frontier.open(spec))
    }),
  ),
  fc.tuple(crawlArb, linkArb).map(([crawl, link]) =>
    command(`explain(${crawl}, ${link.url})`, async (world) => {
      const now = world.clock.now()
      // A driver need not notice links that fell due before somebody leases: the position would not count them.
      const delayed = await world.driver.links({ crawl, state: 'delayed', limit: 100 })
      const settled = delayed.every((other) => (other.dueAt ?? 0) > now)
      await same(
        world,
        (frontier) => frontier.explain(crawl, link.fp),
        (where) =>
          where.state === 'unknown'
            ? where
            : { crawlState: where.crawlState, url: where.link.url, position: settled ? where.position : null },
      )
    }),
  ),
]
