import { randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.js'
import { type Cursor, FROM_START } from '../changes.js'
import type { OutletClaim, OutletHold, OutletInfo, OutletNote, Outlets } from '../outlets.js'
import type { MemoryChanges } from './memory-changes.js'

interface Outlet extends OutletInfo {
  readonly id: string
  readonly epoch: number
  readonly heldUntil: number
}

export class MemoryOutlets implements Outlets {
  readonly #clock: Clock
  readonly #changes: MemoryChanges
  readonly #outlets = new Map<string, Outlet>()

  constructor(clock: Clock, changes: MemoryChanges) {
    this.#clock = clock
    this.#changes = changes
  }

  async claim({ name, spider, kinds, holder, forMs, epoch: renewed }: OutletClaim): Promise<OutletHold | null> {
    const outlet = this.#get(name, spider)
    const now = this.#clock.now()
    const free = outlet.holder === null || outlet.holder === holder || outlet.heldUntil <= now
    if (outlet.stopped || !free) return null
    if (renewed !== undefined && (outlet.holder !== holder || outlet.epoch !== renewed)) return null
    const epoch = outlet.epoch + (outlet.holder === holder ? 0 : 1)
    this.#outlets.set(name, { ...outlet, spider, kinds, holder, epoch, heldUntil: now + forMs })
    return { cursor: outlet.cursor, id: outlet.id, epoch }
  }

  async release(name: string, holder: string): Promise<void> {
    const outlet = this.#outlets.get(name)
    if (outlet?.holder === holder) this.#outlets.set(name, { ...outlet, holder: null })
  }

  async note(name: string, holder: string, { cursor, sent, trimmed, error, stop }: OutletNote): Promise<boolean> {
    this.#changes.positionOf(cursor)
    const outlet = this.#outlets.get(name)
    if (outlet?.holder !== holder) return false
    this.#outlets.set(name, {
      ...outlet,
      ...{ cursor, error, stopped: stop, sent: outlet.sent + sent, trimmed: outlet.trimmed + trimmed },
      sentAt: sent > 0 ? this.#clock.now() : outlet.sentAt,
    })
    return true
  }

  async list(): Promise<OutletInfo[]> {
    const byName = [...this.#outlets.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return byName.map(({ id: _id, epoch: _epoch, heldUntil, holder, ...info }) => ({
      ...info,
      holder: heldUntil > this.#clock.now() ? holder : null,
    }))
  }

  async reset(name: string, spider: string, cursor: Cursor | null): Promise<void> {
    if (cursor !== null) this.#changes.positionOf(cursor)
    const outlet = this.#get(name, spider)
    const freed = { holder: null, error: null, stopped: false }
    this.#outlets.set(name, { ...outlet, ...freed, cursor: cursor ?? outlet.cursor })
  }

  #get(name: string, spider: string): Outlet {
    const fresh = { id: randomUUID(), epoch: 0, holder: null, heldUntil: 0, cursor: FROM_START }
    const nothing = { kinds: null, sent: 0, sentAt: null, trimmed: 0, error: null, stopped: false }
    return this.#outlets.get(name) ?? { name, spider, ...fresh, ...nothing }
  }
}
