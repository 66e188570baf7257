import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { forkTypeScript } from '../chaos/children.js'
import { type Places, type RunOptions, runScenario, type Scenario, type ScenarioResult } from '../chaos/run-scenario.js'
import { fakeClock } from './clocks.js'
import { FleetWorld } from './fleet-world.js'
import { judgeEnds, judgeSiteLog } from './judge.js'
import { type Network, PREFIX, placeOf, SITE_NETWORK } from './network.js'
import type { FleetScenario } from './scenarios.js'
import type { SlowLinkOrder, SlowLinkPorts } from './slow-link-process.js'

export interface FleetOptions extends Pick<RunOptions, 'seed' | 'keep' | 'onProgress'> {
  /** All workers are `shoal worker` as users start it. */
  readonly product: boolean
}

/** Together 80 pages a second at most, so that two cores are enough for the whole fleet and the pace is what limits it. */
export const SITE_HOSTS = 20
const DELAY_MS = 250
const PAGES_PER_S = (SITE_HOSTS * 1000) / DELAY_MS
/** Of the crawl before the fault, and after it. */
const AROUND_MS = 12_000
const LEASE_MS = 30_000
const ANSWER_MS = 30
const MINUTES = 6
const QUEUE_PORT = 6379
const STORE_PORT = 5432
const SLOW_LINK = { delayMs: 30, jitterMs: 60 }
const SLOW_RATE = '2mbit'

export async function runFleetScenario(
  scenario: FleetScenario,
  network: Network,
  { seed, keep, onProgress, product }: FleetOptions,
): Promise<ScenarioResult> {
  const { workers } = network.hosts
  const slow = scenario.slowLinks === true ? await slowLinks(network, seed) : []
  let fleet: FleetWorld | null = null
  const chaos: Scenario = {
    ...{ id: scenario.id, title: scenario.title, injects: ['outage'] },
    pages: pagesFor(scenario),
    // Nothing may be dead in the end, so no page of the site always fails.
    site: { alwaysFails: 0, latencyMs: ANSWER_MS },
    fleet: product ? 'product' : scenario.workers,
    redis: { port: QUEUE_PORT },
    postgres: { port: STORE_PORT },
    ...(scenario.rules !== undefined && { rules: scenario.rules }),
    order: ({ slot, store }) => throughSlowLink(slow[slot]?.ports, store),
    async inject(world) {
      fleet = new FleetWorld(world, network)
      await scenario.inject(fleet)
    },
    async judge(world, { accesses, ends }) {
      const log = judgeSiteLog(world.site.site, accesses, fleet?.outages ?? [])
      world.figure('refetched', log.refetched)
      world.figure('dead letters', (await world.stats())?.dead ?? 'unknown')
      for (const { worker, silentAfterMs, backAfterMs } of log.outages) {
        world.figure(`${worker} silent after, ms`, Math.round(silentAfterMs))
        if (backAfterMs !== null) world.figure(`${worker} back after, ms`, Math.round(backAfterMs))
      }
      world.figure('longest shutdown, ms', Math.round(Math.max(0, ...ends.map(({ ms }) => ms))))
      return [...log.violations, ...(fleet?.untruths ?? []), ...judgeEnds(ends, workers)]
    },
  }
  try {
    return await runScenario(chaos, {
      ...{ queue: 'redis', store: 'postgres', pages: null, workers: workers.length, hosts: SITE_HOSTS },
      ...{ delayMs: DELAY_MS, leaseMs: LEASE_MS, minutes: MINUTES, awayMs: null, seed, keep },
      ...(onProgress !== undefined && { onProgress }),
      places: placesOf(network, scenario),
    })
  } finally {
    for (const { child } of slow) child.kill('SIGKILL')
    network.heal()
    for (const host of workers) network.plug(host)
  }
}

/** The crawl is under way for a while before the fault, and when it is over. */
export function pagesFor({ faultMs }: Pick<FleetScenario, 'faultMs'>): number {
  return Math.ceil(((faultMs + AROUND_MS) / 1000) * PAGES_PER_S)
}

function placesOf({ hosts }: Network, { clock }: FleetScenario): Places {
  return {
    site: { within: placeOf(hosts.site).within, network: SITE_NETWORK },
    queue: placeOf(hosts.queue),
    store: placeOf(hosts.store),
    worker(slot) {
      const host = hosts.workers[slot]
      if (host === undefined) throw new Error(`there is no worker ${slot}`)
      const { address, within } = placeOf(host)
      const skew = clock?.(slot) ?? null
      return { address, within: skew === null ? within : [...within, 'env', ...fakeClock(skew)] }
    },
  }
}

interface SlowLink {
  readonly child: ChildProcess
  readonly ports: SlowLinkPorts
}

/** On every worker's host; the rate is limited by the kernel where it can. */
async function slowLinks({ hosts }: Network, seed: number): Promise<SlowLink[]> {
  return await Promise.all(
    hosts.workers.map(async (host, slot) => {
      const order: SlowLinkOrder = {
        queue: { address: hosts.queue.address, port: QUEUE_PORT },
        store: { address: hosts.store.address, port: STORE_PORT },
        ...{ ...SLOW_LINK, seed: seed + slot },
      }
      const rate = `-n ${PREFIX}${host.name} qdisc replace dev eth0 root tbf rate ${SLOW_RATE} burst 16kb latency 400ms`
      execFileSync('tc', rate.split(' '), { stdio: ['ignore', 'ignore', 'pipe'] })
      const entry = fileURLToPath(new URL('./slow-link-process.ts', import.meta.url))
      const child = forkTypeScript(entry, order, { within: placeOf(host).within })
      const [ports] = (await once(child, 'message')) as [SlowLinkPorts]
      return { child, ports }
    }),
  )
}

function throughSlowLink(ports: SlowLinkPorts | undefined, store: string): { queue?: string; store?: string } {
  if (ports === undefined) return {}
  const address = new URL(store)
  address.host = `127.0.0.1:${ports.store}`
  return { queue: `redis://127.0.0.1:${ports.queue}`, store: address.href }
}
