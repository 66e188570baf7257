import type { Frontier } from './frontier/frontier.js'
import type { RecordStore } from './store/record-store.js'

/** Our own servers, opened: what every command works on. */
export interface Plant {
  readonly frontier: Frontier
  readonly store: RecordStore
  close(): Promise<void>
}

export declare function openPlant(addresses: { readonly queue: string; readonly store: string }): Promise<Plant>
