import type { Script } from '../../redis/connection.js'
import { type LuaConstants, loadScript } from '../../redis/load-script.js'
import { PRIORITY_MAX, PRIORITY_MIN } from '../../url/link.js'
import { FAILURES_KEPT, IDLE_MAX_MS, PERMIT_MAX_MS, SLOT_WAIT_MS, SOLO_AFTER } from '../frontier.js'
import {
  CLOSED_WAIT_MS,
  FAILURE_CAP_MS,
  FAILURE_MS,
  LATENCY_WEIGHT,
  NO_TIME_MS,
  PERMIT_MIN_MS,
  PERMITS_PER_GAP,
  RETRY_AFTER_CAP_MS,
  THROTTLE_BASE_MS,
  THROTTLE_CAP_MS,
} from '../pace.js'
import { poisoned } from '../transitions.js'
import {
  BY_PRIORITY,
  DEAD_LETTER,
  encodeFailure,
  FAR,
  LEVEL,
  NEWEST_FIRST,
  NO_LIMIT,
  OUTCOME_KINDS,
  REPORT_KINDS,
  SKIPPED_LINK,
  UNKNOWN_LATENCY,
} from './codec.js'

const CONSTANTS: LuaConstants = {
  BY_PRIORITY,
  CLOSED_WAIT_MS,
  DEAD_LETTER,
  FAILURE_CAP_MS,
  FAILURE_MS,
  FAILURES_KEPT,
  FAR,
  IDLE_MAX_MS,
  LATENCY_WEIGHT,
  LEVEL,
  NEWEST_FIRST,
  NO_LIMIT,
  NO_TIME_MS,
  OUTCOME_KINDS,
  PERMIT_MAX_MS,
  PERMIT_MIN_MS,
  PERMITS_PER_GAP,
  POISONED: encodeFailure(poisoned('%d')),
  PRIORITY_MAX,
  PRIORITY_MIN,
  REPORT_KINDS,
  RETRY_AFTER_CAP_MS,
  SKIPPED_LINK,
  SLOT_WAIT_MS,
  SOLO_AFTER,
  THROTTLE_BASE_MS,
  THROTTLE_CAP_MS,
  UNKNOWN_LATENCY,
}

/** Files of lua/parts, each group with what it builds on. A script loads no more than it needs: every function costs time in every call. */
const CRAWLS = ['base', 'crawls'] as const
const LANES = [...CRAWLS, 'hosts', 'order', 'pace', 'lanes', 'flush'] as const
const ITEMS = [...LANES, 'items'] as const
const ENDS = [...ITEMS, 'ends'] as const
const LEASES = [...ITEMS, 'leases'] as const

/** One file of lua/ for each operation; these parts go before it. */
const PARTS = {
  start: [],
  open: CRAWLS,
  add: [...ENDS, 'seen', 'links'],
  seeded: LANES,
  lease: LEASES,
  held: ['base'],
  permit: LEASES,
  release: LEASES,
  extend: CRAWLS,
  keep: CRAWLS,
  settle: [...LEASES, 'ends', 'seen', 'links'],
  reap: [...LEASES, 'ends', 'reclaims'],
  forfeit: [...LEASES, 'ends', 'reclaims'],
  'free-guests': [...LEASES, 'ends', 'reclaims'],
  'set-state': LANES,
  'set-host': LANES,
  replay: ENDS,
  steer: ENDS,
  restore: [...ENDS, 'seen', 'links'],
  remove: LEASES,
  sweep: LANES,
  share: CRAWLS,
  finish: LANES,
  wake: LANES,
  view: LANES,
  seen: [...CRAWLS, 'seen'],
} as const satisfies Record<string, readonly string[]>

export type Operation = keyof typeof PARTS

/** All of them, at the first use, which is when the queue is opened: later the files may be gone (an upgrade under a running process). */
let scripts: Readonly<Record<Operation, Script>> | null = null

export function scriptOf(operation: Operation): Script {
  scripts ??= loadAll()
  return scripts[operation]
}

function loadAll(): Record<Operation, Script> {
  const folder = 'frontier/redis/lua'
  const loaded = Object.entries(PARTS).map(([name, parts]) => {
    const files = [...parts.map((part) => `${folder}/parts/${part}`), `${folder}/${name}`]
    return [name, loadScript(name, files, CONSTANTS)]
  })
  return Object.fromEntries(loaded) as Record<Operation, Script>
}
