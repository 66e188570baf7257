import { setTimeout as sleep } from 'node:timers/promises'
import type { CheckRules } from '../chaos/checker.js'
import type { Scenario } from '../chaos/run-scenario.js'
import type { FleetWorld } from './fleet-world.js'

/** One thing that happens to a fleet. */
export interface FleetScenario {
  readonly id: string
  readonly title: string
  /** How long the fault lasts: the crawl is made long enough to see the time after it. */
  readonly faultMs: number
  /** True: part of a run without options. */
  readonly byDefault: boolean
  /** `product` is `shoal worker` as users start it; `recorded` the same worker with a history of its calls. */
  readonly workers: NonNullable<Scenario['fleet']>
  readonly rules?: Partial<CheckRules>
  /** Connections to queue and store go through a slow link. */
  readonly slowLinks?: boolean
  /** FAKETIME of the worker's host; null: its clock is right. */
  clock?(slot: number): string | null
  inject(fleet: FleetWorld): Promise<void>
}

const CUT_MS = 15_000
/** By then a silent worker is lost (10 s), the queue was reaped (1 s), and the machine was busy. */
const LOST_BY_MS = 12_000
/** When the fault begins: as share of the crawl. */
const EARLY = 0.15

async function cutOffFrom(fleet: FleetWorld, part: 'queue' | 'store'): Promise<void> {
  await fleet.world.until(EARLY)
  const slot = fleet.anyWorker()
  await fleet.cutOff([slot], part, CUT_MS, async () => {
    await Promise.all([fleet.askCutOff(slot, part), sleep(LOST_BY_MS)])
    // A worker that only waits for the store is well, and does not count as missing.
    await fleet.askWorkers(part === 'queue' ? [slot] : [])
  })
}

const PARTITION: FleetScenario = {
  ...{ id: 'partition', title: 'a worker cut off from the queue for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: true, workers: 'recorded' },
  inject: (fleet) => cutOffFrom(fleet, 'queue'),
}

const STORE_PARTITION: FleetScenario = {
  ...{ id: 'store-partition', title: 'a worker cut off from the store for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: true, workers: 'recorded' },
  inject: (fleet) => cutOffFrom(fleet, 'store'),
}

const ONE_WAY: FleetScenario = {
  ...{ id: 'one-way', title: 'requests of one worker to the queue are lost, replies to another, for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: true, workers: 'recorded' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const { network } = fleet
    const { queue } = network.hosts
    const deaf = fleet.anyWorker()
    const mute = fleet.nextTo(deaf)
    await fleet.outage({
      ...{ slots: [deaf, mute], without: 'queue', ms: CUT_MS },
      begin() {
        network.lose('cut', fleet.hostOf(mute), queue)
        network.lose('cut', queue, fleet.hostOf(deaf))
      },
      end: () => network.heal(),
    })
  },
}

const SILENT_QUEUE: FleetScenario = {
  ...{ id: 'no-replies', title: 'the queue takes connections and calls of a worker, and no reply arrives for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: false, workers: 'recorded' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const { network } = fleet
    const slot = fleet.anyWorker()
    await fleet.outage({
      ...{ slots: [slot], without: 'queue', ms: CUT_MS },
      begin: () => network.lose('mute', network.hosts.queue, fleet.hostOf(slot)),
      end: () => network.heal(),
      // Its calls arrive, so it may be alive for the queue: what matters is that the command does not hang.
      meanwhile: () => fleet.askCutOff(slot, 'queue'),
    })
  },
}

function unplug(fleet: FleetWorld, slot: number, ms: number | null, meanwhile: () => Promise<void>): Promise<void> {
  const host = fleet.hostOf(slot)
  return fleet.outage({
    ...{ slots: [slot], without: 'everything', ms },
    begin: () => fleet.network.unplug(host),
    end: () => fleet.network.plug(host),
    meanwhile,
  })
}

const CABLE: FleetScenario = {
  ...{ id: 'cable', title: 'the cable of a worker is pulled for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: true, workers: 'product' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const slot = fleet.anyWorker()
    await unplug(fleet, slot, CUT_MS, async () => {
      await sleep(LOST_BY_MS)
      await fleet.askWorkers([slot])
    })
  },
}

const VANISHED: FleetScenario = {
  ...{ id: 'vanished', title: 'the cable of a worker is pulled for ever' },
  ...{ faultMs: LOST_BY_MS, byDefault: true, workers: 'product' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const slot = fleet.anyWorker()
    await unplug(fleet, slot, null, async () => {
      await sleep(LOST_BY_MS)
      await fleet.askWorkers([slot])
      await fleet.askStatus(0)
    })
  },
}

const EVERYBODY_MS = 20_000

const QUEUE_CUT: FleetScenario = {
  ...{ id: 'queue-cut', title: 'all workers cut off from the queue for 20 s' },
  ...{ faultMs: EVERYBODY_MS, byDefault: true, workers: 'recorded' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    await fleet.cutOff(fleet.allWorkers, 'queue', EVERYBODY_MS, async () => {
      await sleep(LOST_BY_MS)
      await fleet.askWorkers(fleet.allWorkers)
    })
  },
}

const STORE_CUT: FleetScenario = {
  ...{ id: 'store-cut', title: 'all workers cut off from the store for 20 s' },
  ...{ faultMs: EVERYBODY_MS, byDefault: false, workers: 'product' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    await fleet.cutOff(fleet.allWorkers, 'store', EVERYBODY_MS, () => fleet.askWorkers([]))
  },
}

const SITE_CUT: FleetScenario = {
  ...{ id: 'site-cut', title: 'the site unreachable for one worker for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: false, workers: 'recorded' },
  rules: { fetchesMayFail: true },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    await fleet.cutOff([fleet.anyWorker()], 'site', CUT_MS)
  },
}

const SLOW: FleetScenario = {
  ...{ id: 'slow', title: 'slow links to queue and store: 30 to 90 ms each way, 2 Mbit/s' },
  ...{ faultMs: CUT_MS, byDefault: false, workers: 'recorded' },
  slowLinks: true,
  async inject({ world }) {
    await world.until(0.9)
    world.count('outage')
  },
}

const SKEWS = ['+1h', '-1h', '+0 x1.05'] as const

const CLOCKS: FleetScenario = {
  ...{ id: 'clocks', title: 'clocks of the hosts an hour ahead, an hour behind, 5 % fast' },
  ...{ faultMs: CUT_MS, byDefault: true, workers: 'product' },
  clock: (slot) => SKEWS[slot % SKEWS.length] ?? null,
  async inject(fleet) {
    await fleet.world.until(0.5)
    await fleet.askWorkers([])
    await fleet.askStatus(0)
    fleet.world.count('outage')
  },
}

const FLAPS = 5
const FLAP_MS = 2_000

const FLAPPING: FleetScenario = {
  ...{ id: 'flapping', title: 'a worker cut off from everything for 2 s and back for 2 s, five times' },
  ...{ faultMs: 2 * FLAPS * FLAP_MS, byDefault: true, workers: 'recorded' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const slot = fleet.anyWorker()
    const { queue, store, site } = fleet.network.hosts
    for (let flap = 0; flap < FLAPS; flap++) {
      await fleet.outage({
        ...{ slots: [slot], without: 'everything', ms: FLAP_MS },
        begin: () => fleet.network.cut(fleet.hostOf(slot), [queue, store, site]),
        end: () => fleet.network.heal(),
      })
      await sleep(FLAP_MS)
    }
  },
  rules: { fetchesMayFail: true },
}

const FROZEN_MS = 20_000

const FROZEN: FleetScenario = {
  ...{ id: 'frozen', title: 'a worker stopped (SIGSTOP) for 20 s, the network cut around its wake-up' },
  ...{ faultMs: FROZEN_MS + 5_000, byDefault: true, workers: 'recorded' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const slot = fleet.anyWorker()
    const { world, network } = fleet
    const host = fleet.hostOf(slot)
    await fleet.outage({
      ...{ slots: [slot], without: 'everything', ms: FROZEN_MS + 5_000 },
      begin: () => {},
      end: () => network.heal(),
      async meanwhile() {
        const thawed = world.fleet.freeze(slot, FROZEN_MS)
        await sleep(LOST_BY_MS)
        await fleet.askWorkers([slot])
        // When it continues, others have its pages, and it cannot ask.
        network.cut(host, [network.hosts.queue, network.hosts.store, network.hosts.site])
        await thawed
      },
    })
  },
}

const HALF_OPEN_MS = 60_000

const HALF_OPEN: FleetScenario = {
  ...{ id: 'half-open', title: 'connections of a worker to queue and store silent for 60 s' },
  ...{ faultMs: HALF_OPEN_MS, byDefault: false, workers: 'product' },
  async inject(fleet) {
    await fleet.world.until(0.08)
    const slot = fleet.anyWorker()
    const { queue, store } = fleet.network.hosts
    await fleet.outage({
      ...{ slots: [slot], without: 'queue', ms: HALF_OPEN_MS },
      begin: () => fleet.network.cut(fleet.hostOf(slot), [queue, store]),
      end: () => fleet.network.heal(),
    })
  },
}

const BLACK_HOLE: FleetScenario = {
  ...{ id: 'black-hole', title: 'packets over 600 bytes of a worker to the queue and the store are lost for 15 s' },
  ...{ faultMs: CUT_MS, byDefault: false, workers: 'product' },
  async inject(fleet) {
    await fleet.world.until(EARLY)
    const slot = fleet.anyWorker()
    const { network } = fleet
    const { queue, store } = network.hosts
    await fleet.outage({
      ...{ slots: [slot], without: 'store', ms: CUT_MS },
      begin() {
        for (const backend of [queue, store]) {
          network.lose('shrunk', fleet.hostOf(slot), backend)
          network.lose('shrunk', backend, fleet.hostOf(slot))
        }
      },
      end: () => network.heal(),
    })
  },
}

export const SCENARIOS: readonly FleetScenario[] = [
  PARTITION,
  STORE_PARTITION,
  ONE_WAY,
  CABLE,
  VANISHED,
  QUEUE_CUT,
  CLOCKS,
  FLAPPING,
  FROZEN,
  SILENT_QUEUE,
  STORE_CUT,
  SITE_CUT,
  SLOW,
  BLACK_HOLE,
  HALF_OPEN,
]
