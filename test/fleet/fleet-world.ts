import { setTimeout as sleep } from 'node:timers/promises'
import type { Violation } from '../chaos/checker.js'
import { monotonic } from '../chaos/history.js'
import type { World } from '../chaos/world.js'
import { LOOPBACK } from '../support/place.js'
import type { Outage } from './judge.js'
import { type HostSpec, type Network, PREFIX, placeOf } from './network.js'
import { askFrom, judgeCutOff, judgeWorkers } from './witness.js'

interface OutageOptions {
  /** Workers in trouble, counted from 0. */
  readonly slots: readonly number[]
  readonly without: Outage['without']
  /** Null: for ever. */
  readonly ms: number | null
  begin(): void
  end(): void
  /** At the same time; the outage lasts at least as long as this. */
  meanwhile?(): Promise<void>
}

/** A crawl on the hosts of a network, and what is done to it. */
export class FleetWorld {
  readonly world: World
  readonly network: Network
  readonly outages: Outage[] = []
  /** What the commands said that was not true. */
  readonly untruths: Violation[] = []

  constructor(world: World, network: Network) {
    this.world = world
    this.network = network
  }

  /** One of the workers, by the seed. */
  anyWorker(): number {
    return Math.floor(this.world.random() * this.network.hosts.workers.length)
  }

  /** Another one. */
  nextTo(slot: number): number {
    return (slot + 1) % this.network.hosts.workers.length
  }

  get allWorkers(): number[] {
    return this.network.hosts.workers.map((_, slot) => slot)
  }

  hostOf(slot: number): HostSpec {
    const host = this.network.hosts.workers[slot]
    if (host === undefined) throw new Error(`there is no worker ${slot}`)
    return host
  }

  /** Breaks something, lets it be broken, repairs it, and writes down for whom and when. */
  async outage({ slots, without, ms, begin, end, meanwhile }: OutageOptions): Promise<void> {
    const from = monotonic()
    begin()
    this.#record(slots, without)
    await Promise.all([sleep(ms ?? 0), meanwhile?.()])
    if (ms !== null) end()
    const until = ms === null ? null : monotonic()
    this.#record(slots, without)
    for (const slot of slots) {
      const { name, address } = this.hostOf(slot)
      this.outages.push({ worker: name, address, without, from, until })
    }
    this.world.count('outage')
  }

  /** The checker excuses leases that these workers lose from now on, or lost until now. */
  #record(slots: readonly number[], without: Outage['without']): void {
    const silent = without === 'queue' || without === 'everything'
    const events = slots.map((slot) => ({
      ...({ op: 'fault', phase: 'info', id: '', epoch: '', host: '' } as const),
      fault: silent ? 'cut' : `without ${without}`,
      target: this.world.fleet.idOf(slot),
    }))
    this.world.injector.record(events)
  }

  /** Both directions, between these workers and some hosts. */
  cutOff(slots: readonly number[], from: 'queue' | 'store' | 'site', ms: number, meanwhile?: () => Promise<void>) {
    return this.outage({
      ...{ slots, without: from, ms },
      begin: () => {
        for (const slot of slots) this.network.cut(this.hostOf(slot), [this.network.hosts[from]])
      },
      end: () => this.network.heal(),
      ...(meanwhile !== undefined && { meanwhile }),
    })
  }

  /** `shoal status` on the host of a worker that is cut off from the queue or the store. */
  async askCutOff(slot: number, part: 'queue' | 'store'): Promise<void> {
    const answer = await askFrom(placeOf(this.hostOf(slot)), ['status'], this.#backends)
    this.world.figure(`status without ${part}`, `exit ${answer.code} in ${(answer.ms / 1000).toFixed(1)} s`)
    this.untruths.push(...judgeCutOff(answer, part))
  }

  /** `shoal workers` on this machine: these workers are missing, and no others. */
  async askWorkers(slots: readonly number[]): Promise<void> {
    const answer = await askFrom(LOOPBACK, ['workers', '--json'], this.#backends)
    const missing = slots.map((slot) => `${PREFIX}${this.hostOf(slot).name}`)
    this.untruths.push(...judgeWorkers(answer, missing))
  }

  /** `shoal status` on this machine, which reaches everything. */
  async askStatus(exitCode: number): Promise<void> {
    const { code, stdout, stderr } = await askFrom(LOOPBACK, ['status', '--json'], this.#backends)
    this.world.figure('status says', `exit ${code}`)
    if (code !== exitCode)
      this.untruths.push({
        invariant: 'I12',
        detail: `status: exit code ${code}, not ${exitCode}: ${(stderr || stdout).trim().slice(0, 500)}`,
      })
  }

  get #backends() {
    return { queue: this.world.redis?.server.url ?? '', store: this.world.store }
  }
}
