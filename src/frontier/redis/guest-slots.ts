import type { HostKey } from '../../url/link.js'
import type { WorkerId } from '../frontier.js'

/** A slot of a host that a lease of another shard holds. */
export interface GuestSlot {
  readonly token: string
  readonly host: HostKey
}

/** As permit.lua and free-guests.lua name it. */
export function slotField({ token, host }: GuestSlot): string {
  return `${token}\n${host}`
}

/** Which slots our leases hold in other shards than their own: the script that settles a lease cannot reach them. */
export class GuestSlots {
  readonly #hosts = new Map<string, Set<HostKey>>()
  /** Whose lease it is: a slot in another shard is forfeited by worker. */
  readonly #workers = new Map<string, WorkerId>()

  leased(token: string, worker: WorkerId): void {
    this.#workers.set(token, worker)
  }

  workerOf(token: string): WorkerId {
    return this.#workers.get(token) ?? ''
  }

  taken({ token, host }: GuestSlot): void {
    const hosts = this.#hosts.get(token) ?? new Set()
    this.#hosts.set(token, hosts.add(host))
  }

  released({ token, host }: GuestSlot): void {
    this.#hosts.get(token)?.delete(host)
  }

  /** The leases are over: answers the slots that nobody released. */
  ended(tokens: readonly string[]): GuestSlot[] {
    return tokens.flatMap((token) => {
      const hosts = this.#hosts.get(token) ?? []
      this.#hosts.delete(token)
      this.#workers.delete(token)
      return [...hosts].map((host) => ({ token, host }))
    })
  }

  /** The queue has freed all its slots. */
  forfeited(worker: WorkerId): void {
    for (const [token, holder] of this.#workers) if (holder === worker) this.ended([token])
  }
}
