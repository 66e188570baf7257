import type { Script } from '../../redis/connection.js'
import { loadScript } from '../../redis/load-script.js'

/** One file for each operation; what they share stands in front of them. */
const SHARED = {
  start: [],
  open: ['prelude'],
  add: ['prelude', 'dead', 'links'],
  seeded: ['prelude'],
  lease: ['prelude'],
  held: ['prelude'],
  permit: ['prelude'],
  release: ['prelude'],
  extend: ['prelude'],
  keep: ['prelude'],
  settle: ['prelude', 'dead', 'links'],
  reap: ['prelude', 'reclaims'],
  forfeit: ['prelude', 'reclaims'],
  'free-guests': ['prelude', 'reclaims'],
  'set-state': ['prelude'],
  'set-host': ['prelude'],
  replay: ['prelude', 'dead'],
  steer: ['prelude', 'dead'],
  restore: ['prelude', 'dead', 'links'],
  remove: ['prelude'],
  sweep: ['prelude'],
  share: ['prelude'],
  finish: ['prelude'],
  wake: ['prelude'],
  view: ['prelude'],
  seen: ['prelude', 'dead', 'links'],
} as const satisfies Record<string, readonly string[]>

export type Operation = keyof typeof SHARED

let loaded: ReadonlyMap<string, Script> | null = null

/** All are read at the first question, which comes when the queue is opened: later there may be no file left to open. */
export function scriptOf(operation: Operation): Script {
  loaded ??= new Map(Object.entries(SHARED).map(([name, shared]) => [name, loadScript('frontier', name, shared)]))
  return loaded.get(operation) ?? loadScript('frontier', operation, SHARED[operation])
}
