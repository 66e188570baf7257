import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { CrawlSpec, Frontier, Outcome } from '../../src/frontier/frontier.js'
import { LOST_AFTER_MS } from '../../src/frontier/liveness.js'
import type { Link } from '../../src/url/link.js'
import { done, linkTo, type MakeFrontier, specOf } from '../contract/frontier-fixtures.js'
import { runs } from '../support/longer.js'
import { Book, type Held } from './book.js'
import {
  afterArb,
  crawlArb,
  deadFilterArb,
  failureArb,
  limitsArb,
  nthArb,
  reportArb,
  settingsArb,
  spidersArb,
  steerArb,
  WORKERS,
  workerArb,
} from './commands.js'

const SPIDERS = ['books', 'films']
/** Of several registrable domains, so that a queue in parts has some in each. */
const HOSTS = ['a.test', 'b.test', 'c.test', 'd.test', 'www.d.test', 'e.test']
/** Backoffs and blocks are over after an hour at most. */
const DRAIN_STEP_MS = 60_000
const DRAIN_ROUNDS = 300
/** Between two reaps of a fleet. */
const WATCH_STEP_MS = 2_000

/**
 * For drivers that do not keep the model's order: whatever they choose, no link is leased twice, no host is asked over its pace, nothing
 * stale is accepted, counters equal a scan, and after a drain every link has ended once and the crawls are finished, not earlier.
 */
export function frontierInvariants(name: string, makeDriver: MakeFrontier, options: { runs: number }): void {
  describe(`frontier invariants: ${name}`, () => {
    const sequences = runs(options.runs)
    const timeout = 60_000 + sequences * 4_000
    it(`hold over ${sequences} sequences and their drain`, { timeout }, () =>
      checkInvariants(makeDriver, {
        numRuns: sequences,
        // A failure that is found is told, however long it would take to make it shorter.
        interruptAfterTimeLimit: timeout - 10_000,
        markInterruptAsFailure: true,
      }),
    )
  })
}

/** Rejects with the shortest sequence found that breaks one. */
export async function checkInvariants(
  makeDriver: MakeFrontier,
  parameters: Pick<fc.Parameters, 'numRuns' | 'endOnFailure' | 'interruptAfterTimeLimit' | 'markInterruptAsFailure'>,
): Promise<void> {
  const commandsArb = fc.commands(commandArbs, { maxCommands: 60, size: 'max' })
  const property = fc.asyncProperty(specsArb, linksArb, commandsArb, async (specs, seeds, commands) => {
    const clock = new ManualClock()
    const made = await makeDriver(clock)
    try {
      const world: World = {
        frontier: made.frontier,
        book: new Book(clock, specs),
        seqs: new Map(),
        again: new Map(),
        disturb: async () => made.disturb?.(),
      }
      for (const spec of specs) {
        await made.frontier.open(spec)
        await add(world, spec.id, seeds)
      }
      await fc.asyncModelRun(() => ({ model: {}, real: world }), commands)
      await drain(world)
    } finally {
      await made.close()
    }
  })
  await fc.assert(property, parameters)
}

interface World {
  readonly frontier: Frontier
  readonly book: Book
  readonly seqs: Map<string, number>
  /** The newest call of each kind, to be sent once more. */
  readonly again: Map<'settle' | 'release' | 'extend', () => Promise<void>>
  readonly disturb: () => Promise<void>
}

async function add({ frontier, book }: World, crawl: string, links: readonly Link[]): Promise<void> {
  const { added, known, refused } = await frontier.add(crawl, links)
  const fresh = book.added(crawl, links)
  expect({ added, known, refused }).toEqual({ added: fresh, known: links.length - fresh, refused: 0 })
}

async function lease({ frontier, book, seqs }: World, worker: string, want: number, spiders: readonly string[]) {
  const seq = (seqs.get(worker) ?? 0) + 1
  seqs.set(worker, seq)
  const reply = await frontier.lease({ worker, seq, want, spiders })
  expect(reply.idleMs).toBeGreaterThanOrEqual(1)
  expect(reply.idleMs).toBeLessThanOrEqual(1000)
  book.leased(worker, seq, want, spiders, reply)
  await book.checkSolo(frontier, worker, reply)
}

async function settle({ frontier, book }: World, settlements: readonly { held: Held; outcome: Outcome }[]) {
  const answers = await frontier.settle(settlements.map(({ held, outcome }) => ({ lease: held.lease, outcome })))
  settlements.forEach(({ held, outcome }, i) => {
    book.settled(held, outcome, answers[i])
  })
}

async function setState({ frontier, book }: World, crawl: string, state: 'running' | 'paused'): Promise<void> {
  try {
    await frontier.setState(crawl, state)
    book.setState(crawl, state)
  } catch (error) {
    // A crawl that has ended is not paused any more.
    if (!(error instanceof ShoalError && error.code === 'crawl_ended')) throw error
    expect(book.hasEnded(crawl)).toBe(true)
  }
}

async function setHost({ frontier, book }: World, host: string, settings: Parameters<Frontier['setHost']>[1]) {
  await frontier.setHost(host, settings)
  book.setHost(host, settings)
}

async function reap({ frontier, book }: World, limit: number): Promise<void> {
  book.reaped(limit, await frontier.reap(limit))
}

/** The worker beats once and then falls silent, while the others watch. */
async function loseWorker(world: World, worker: string): Promise<void> {
  await world.frontier.beat(worker, LOST_AFTER_MS)
  await reap(world, 1000)
  for (let passed = 0; passed < LOST_AFTER_MS - WATCH_STEP_MS; passed += WATCH_STEP_MS) {
    world.book.clock.advance(WATCH_STEP_MS)
    await reap(world, 1000)
  }
  world.book.clock.advance(WATCH_STEP_MS)
  world.book.lost(worker, await world.frontier.reap(1000))
}

/** All faults cease: everything must end, and the crawls with it. */
async function drain(world: World): Promise<void> {
  const { book, frontier } = world
  for (const host of HOSTS)
    await setHost(world, host, { delayMs: null, concurrency: null, floorMs: null, blocked: null })
  for (const { id } of book.specs) {
    await setState(world, id, 'running')
    await frontier.seeded(id)
    book.seeded(id)
  }
  for (let round = 0; book.specs.some(({ id }) => !book.hasEnded(id)); round++) {
    expect(round, 'rounds of a drain that does not end').toBeLessThan(DRAIN_ROUNDS)
    book.clock.advance(DRAIN_STEP_MS)
    await reap(world, 1000)
    for (const worker of WORKERS) await lease(world, worker, 9, SPIDERS)
    const held = book.leases.filter((one) => book.isLive(one))
    for (const one of held) {
      await settle(world, [{ held: one, outcome: done([]) }])
      if (held.length < 5) await book.check(frontier)
    }
    await book.check(frontier)
  }
  for (const { inFlight } of await frontier.workers()) expect(inFlight).toBe(0)
}

type Command = fc.AsyncCommand<object, World>

function command(text: string, run: (world: World) => Promise<unknown>): Command {
  return {
    check: () => true,
    toString: () => text,
    run: async (_, world) => {
      await run(world)
      await world.book.check(world.frontier)
    },
  }
}

/** A command about a lease: mostly one that is held, sometimes any recent one. */
function onLease(text: string, nth: number, run: (world: World, held: Held) => Promise<unknown>): Command {
  return command(`${text} of lease ${nth}`, async (world) => {
    const held = pick(world, nth)
    if (held !== undefined) await run(world, held)
  })
}

function pick({ book }: World, nth: number): Held | undefined {
  const live = book.leases.filter((held) => book.isLive(held))
  const recent = (nth < 7 && live.length > 0 ? live : book.leases).slice(-7)
  return recent.at(nth % Math.max(1, recent.length))
}

const hostArb = fc.constantFrom(...HOSTS)
const linkArb = fc
  .record({
    host: hostArb,
    path: fc.nat(4),
    route: fc.constantFrom('page', 'slow'),
    priority: fc.constantFrom(0, 0, 5, -100),
    delayMs: fc.constantFrom(undefined, undefined, undefined, 100),
  })
  .map(({ host, path, route, priority, delayMs }) =>
    linkTo(`${host}/${path}`, { route, priority, ...(delayMs === undefined ? {} : { delayMs }) }),
  )
const linksArb = fc.array(linkArb, { maxLength: 8, size: 'max' })

const outcomeArb: fc.Arbitrary<Outcome> = fc.oneof(
  linksArb.map((links) => done(links, 10)),
  linksArb.map((links) => done(links, 10)),
  fc.record({ kind: fc.constant('retry'), afterMs: afterArb, failure: failureArb, countsAsAttempt: fc.boolean() }),
  fc.record({ kind: fc.constant('dead'), failure: failureArb }),
  fc.record({ kind: fc.constant('skipped'), failure: failureArb }),
  fc.record({ kind: fc.constant('back'), afterMs: afterArb }),
)

/** Two crawls with one rate: where rates differ a bucket changes its size in the middle, and no simple bound holds. */
const specsArb: fc.Arbitrary<CrawlSpec[]> = fc
  .record({
    one: limitsArb,
    two: limitsArb,
    routeLimits: fc.constantFrom<CrawlSpec['routeLimits']>({}, { slow: { delayMs: 250, concurrency: 1 } }),
    visibilityMs: fc.constantFrom(1000, 60_000),
    maxReclaims: fc.constantFrom(0, 1, 100),
  })
  .map(({ one, two: { delayMs, concurrency }, ...rest }) => [
    specOf({ ...rest, id: 'c1', limits: one }),
    specOf({
      ...rest,
      id: 'c2',
      spider: 'films',
      limits: { delayMs, concurrency, ...(one.rate === undefined ? {} : { rate: one.rate }) },
    }),
  ])

const text = (value: unknown) => JSON.stringify(value)

const weighted: readonly (readonly [times: number, arb: fc.Arbitrary<Command>])[] = [
  [
    3,
    fc
      .tuple(crawlArb, linksArb)
      .map(([crawl, links]) =>
        command(`add(${crawl}, ${text(links.map(({ url, route }) => [url, route]))})`, (world) =>
          add(world, crawl, links),
        ),
      ),
  ],
  [
    1,
    crawlArb.map((crawl) =>
      command(`seeded(${crawl})`, async ({ frontier, book }) => {
        await frontier.seeded(crawl)
        book.seeded(crawl)
      }),
    ),
  ],
  [
    10,
    fc
      .tuple(workerArb, fc.constantFrom(0, 1, 4, 9), spidersArb)
      .map(([worker, want, spiders]) =>
        command(`lease(${worker}, ${want}, ${spiders})`, (world) => lease(world, worker, want, spiders)),
      ),
  ],
  [
    2,
    workerArb.map((worker) =>
      command(`lease(${worker}) again`, async ({ frontier, book, seqs }) => {
        const seq = seqs.get(worker)
        if (seq === undefined || !(await frontier.workers()).some((info) => info.worker === worker)) return
        book.leasedAgain(worker, seq, await frontier.lease({ worker, seq, want: 3, spiders: SPIDERS }))
      }),
    ),
  ],
  [
    8,
    fc.tuple(nthArb, outcomeArb, fc.option(fc.tuple(nthArb, outcomeArb))).map(([nth, outcome, more]) =>
      onLease(`settle(${outcome.kind}, ${text(more?.[1].kind)})`, nth, async (world, held) => {
        const also = more === null ? undefined : pick(world, more[0])
        const settlements = [{ held, outcome }]
        if (more !== null && also !== undefined && also !== held) settlements.push({ held: also, outcome: more[1] })
        const call = () => settle(world, settlements)
        world.again.set('settle', call)
        await call()
      }),
    ),
  ],
  [
    5,
    fc.tuple(nthArb, fc.option(hostArb), fc.constantFrom(0, 10, 500), reportArb).map(([nth, host, elapsedMs, report]) =>
      onLease(`release(${host ?? 'own host'}, ${elapsedMs}, ${text(report)})`, nth, async (world, held) => {
        const release = { lease: held.lease, host: host ?? held.lease.link.host, elapsedMs, report }
        const call = async () => {
          await world.frontier.release([release])
          world.book.released(release, held)
        }
        world.again.set('release', call)
        await call()
      }),
    ),
  ],
  [
    4,
    fc.tuple(nthArb, fc.option(hostArb)).map(([nth, host]) =>
      onLease(`permit(${host ?? 'own host'})`, nth, async ({ frontier, book }, held) => {
        const asked = host ?? held.lease.link.host
        book.permitted(held, asked, await frontier.permit(held.lease, asked))
      }),
    ),
  ],
  [
    2,
    fc.tuple(nthArb, nthArb, workerArb).map(([one, two, worker]) =>
      command(`extend(${worker}, leases ${one} and ${two})`, async (world) => {
        const pair = [...new Set([pick(world, one), pick(world, two)].flatMap((held) => held ?? []))]
        const call = async () => {
          const lost = await world.frontier.extend(
            worker,
            pair.map(({ lease }) => lease.token),
          )
          world.book.extended(worker, pair, lost)
        }
        world.again.set('extend', call)
        await call()
      }),
    ),
  ],
  [
    3,
    fc
      .constantFrom('settle', 'release', 'extend')
      .map((method) => command(`the last ${method} again`, async ({ again }) => again.get(method)?.())),
  ],
  [3, fc.constantFrom(1, 1000).map((limit) => command(`reap(${limit})`, (world) => reap(world, limit)))],
  [
    4,
    workerArb.map((worker) =>
      command(`forfeit(${worker})`, async ({ frontier, book }) =>
        book.forfeited(worker, await frontier.forfeit(worker)),
      ),
    ),
  ],
  [2, workerArb.map((worker) => command(`lose ${worker}`, (world) => loseWorker(world, worker)))],
  [
    6,
    fc
      .constantFrom(1, 50, 100, 250, 1000, 5000, 60_000)
      .map((ms) => command(`advance(${ms})`, async ({ book }) => book.clock.advance(ms))),
  ],
  [
    2,
    fc
      .tuple(crawlArb, fc.constantFrom('running', 'running', 'paused'))
      .map(([crawl, state]) => command(`setState(${crawl}, ${state})`, (world) => setState(world, crawl, state))),
  ],
  [
    1,
    fc
      .tuple(hostArb, settingsArb)
      .map(([host, settings]) =>
        command(`setHost(${host}, ${text(settings)})`, (world) => setHost(world, host, settings)),
      ),
  ],
  [
    2,
    fc.tuple(crawlArb, deadFilterArb).map(([crawl, filter]) =>
      command(`replay(${crawl}, ${text(filter)})`, async ({ frontier, book }) => {
        await book.replayed(frontier, crawl, await frontier.replay(crawl, filter))
      }),
    ),
  ],
  [
    5,
    fc.tuple(crawlArb, linkArb, steerArb).map(([crawl, link, order]) =>
      command(`steer(${crawl}, ${link.url}, ${order})`, async ({ frontier, book }) => {
        book.steered(crawl, link, order, await frontier.steer(crawl, link.fp, link.host, order))
      }),
    ),
  ],
  [1, fc.constant(command('disturb', ({ disturb }) => disturb()))],
]

const commandArbs = weighted.flatMap(([times, arb]) => Array.from({ length: times }, () => arb))
