import type { Script } from '../../redis/connection.js'
import { constantsOf, type LuaConstants, scriptLoader } from '../../redis/load-script.js'
import * as link from '../../url/link.js'
import * as counts from '../counts.js'
import * as frontier from '../frontier.js'
import * as liveness from '../liveness.js'
import * as pace from '../pace.js'
import { poisonFormat } from '../transitions.js'
import * as turns from '../turns.js'
import * as codec from './codec.js'

/** Every exported constant of these files can be named in Lua. */
const CONSTANTS: LuaConstants = {
  ...constantsOf(link, counts, frontier, liveness, pace, turns, codec),
  OTHER_COUNTS: counts.OTHER_COUNTS,
  POISONED: codec.encodeFailure(poisonFormat()),
}

/** Files of lua/parts, each group with what it builds on. Of these a script keeps what its operation uses (../../redis/slim-script.ts). */
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
  lease: [...LEASES, 'turns'],
  held: ['base'],
  permit: LEASES,
  release: LEASES,
  extend: CRAWLS,
  keep: CRAWLS,
  settle: [...LEASES, 'ends', 'seen', 'links'],
  beat: ['base'],
  reap: [...LEASES, 'ends', 'reclaims', 'liveness'],
  forfeit: [...LEASES, 'ends', 'reclaims', 'liveness'],
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
  workers: ['base'],
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
  const loadScript = scriptLoader(CONSTANTS)
  const loaded = Object.entries(PARTS).map(([name, parts]) => {
    const files = [...parts.map((part) => `${folder}/parts/${part}`), `${folder}/${name}`]
    return [name, loadScript(name, files)]
  })
  return Object.fromEntries(loaded) as Record<Operation, Script>
}
