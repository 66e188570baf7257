import { expect } from 'vitest'
import type { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import type { CrawlSpec, Frontier, HostInfo, Lease, LinkInfo } from '../../src/frontier/frontier.js'
import { comparable, counterFaults, scan } from '../contract/frontier-fixtures.js'

/** The model and the driver under test, side by side, on one clock. */
export interface World {
  readonly clock: ManualClock
  readonly model: Frontier
  readonly driver: Frontier
  readonly specs: readonly CrawlSpec[]
  readonly seqs: Map<string, number>
  /** Leases ever granted: what one of them calls a token the other calls otherwise. Newest last. */
  readonly leases: Both[]
  /** The newest call of each of these, to be sent once more as after a lost reply. */
  readonly last: Map<'settle' | 'release' | 'extend', Call>
  readonly disturb: () => Promise<void>
}

export type Call = (frontier: Frontier, side: 'model' | 'driver') => Promise<unknown>

/** One lease as each of them calls it; `over` as far as the test knows. */
export type Both = { model: Lease; driver: Lease; over: boolean }

/** Makes the call on both and compares the answers, or the codes of the errors. */
export async function same<T>(
  world: Pick<World, 'model' | 'driver'>,
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
export async function compareAll(world: World): Promise<void> {
  const { clock, driver } = world
  const opened = await same(world, (frontier) => frontier.crawls())
  for (const { id } of opened?.model ?? []) {
    const scans = await same(
      world,
      (frontier) => scan(frontier, id),
      (links) => comparable(links, driver.can).map((link) => linkView(link, clock.now())),
    )
    if (scans === null) continue
    const done = scans.model.filter((link) => link.state === 'done').length
    expect(counterFaults(await driver.stats(id), scans.driver, { done, can: driver.can })).toEqual([])
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
    await same(
      world,
      (frontier) => frontier.deadByError(id),
      (groups) => (driver.can.ended === 'kept' ? groups : groups.map(({ code, count }) => ({ code, count }))),
    )
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

export function leaseView({ token: _, link, ...lease }: Lease) {
  return { ...lease, url: link.url, priority: link.priority, route: link.route }
}
