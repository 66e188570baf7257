import { type Clock, systemClock, systemRandom } from '../clock.js'
import { ShoalError } from '../errors.js'
import { type HostPort, nameOf, parseAddress } from './address.js'
import { openCluster } from './cluster.js'
import { atRunTime, isReply, isUnknownScript } from './redis-errors.js'
import { findMaster } from './sentinel.js'
import { openSocket, type RedisReply, type SocketOptions } from './socket.js'
import { durabilityGap, type Info, readInfo, refuseUnfit } from './start-up-checks.js'

export type { RedisReply } from './socket.js'

export interface Script {
  readonly name: string
  readonly source: string
  /** SHA-1 of the source in hex, as SCRIPT LOAD answers it. */
  readonly sha: string
  /** The files it was loaded from, in order, and how many of its lines each has. */
  readonly parts?: readonly { readonly file: string; readonly lines: number }[]
}

/**
 * Errors: `queue_down` when the server is unreachable, busy or full, or its reply was lost: whether the call ran is then unknown, and it is
 * repeated by the caller. `queue_forbidden` when the ACL user may not run it. What a script itself answers as an error stays as it is.
 */
export interface RedisConnection {
  /** EVALSHA, and EVAL when the server does not know it, on the node that serves keys[0]. Every call has a deadline. */
  run(script: Script, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<RedisReply>
  /** One command, routed by `key` (null: any master). */
  command(key: string | null, args: readonly (string | Buffer)[]): Promise<RedisReply>
  /** Masters of a cluster; 1 for a single server. */
  readonly masters: number
  /** How often a connection was lost or could not be made: the server behind the next one may be older than its last answer. */
  readonly losses: number
  /** One line each: what a crash of the server would cost, when that is more than the last seconds. */
  readonly warnings: readonly string[]
  close(): Promise<void>
}

export interface RedisOptions {
  /** No call waits longer; a connection that has been silent for so long is torn down and dialled again. */
  readonly deadlineMs?: number
  readonly clock?: Clock
  /** False: not looked at whether a crawl can rely on the server. Default true. */
  readonly checked?: boolean
}

type Call = (args: readonly (string | Buffer)[]) => Promise<RedisReply>

interface Servers {
  call(key: string | null, args: readonly (string | Buffer)[]): Promise<RedisReply>
  masters(): number
  readonly warnings: readonly string[]
  close(): void
}

/** Connects and checks that a crawl can rely on the server; every mistake has a message of its own. */
export async function openRedis(address: string, options: RedisOptions = {}): Promise<RedisConnection> {
  const { clock = systemClock, deadlineMs = 5000, checked = true } = options
  let losses = 0
  const onLost = () => {
    losses++
  }
  const servers = await openServers(
    address,
    { clock, deadlineMs, random: systemRandom, onLost },
    checked ? check : unchecked,
  )
  const call: Servers['call'] = (key, args) =>
    servers.call(key, args).catch((error: unknown) => {
      throw atRunTime(error)
    })
  return {
    command: call,
    run: (script, keys, args) => evaluate((line) => call(keys[0] ?? null, line), script, keys, args),
    get masters() {
      return servers.masters()
    },
    get losses() {
      return losses
    },
    warnings: servers.warnings,
    close: async () => servers.close(),
  }
}

async function openServers(address: string, options: Omit<SocketOptions, 'target'>, check: Check): Promise<Servers> {
  const parsed = parseAddress(address)
  const { kind, servers, login } = parsed
  if (kind === 'cluster') return await openClusterServers(servers, login, options, check)
  const [first] = servers
  const target = kind === 'sentinel' ? () => findMaster(parsed, options) : async () => ({ ...first, ...login })
  const socket = openSocket({ ...options, target })
  try {
    const info = await askInfo(socket.call)
    if (info.get('redis_mode') === 'cluster' && kind === 'server') {
      socket.close()
      return await openClusterServers(servers, login, options, check)
    }
    const name = kind === 'sentinel' ? `${parsed.master} (Sentinel)` : nameOf(first)
    const warnings = warningsOf([{ name, gap: await check(socket.call, info, name) }])
    return { call: (_key, args) => socket.call(args), masters: () => 1, warnings, close: socket.close }
  } catch (error) {
    socket.close()
    throw error
  }
}

async function openClusterServers(
  seeds: readonly HostPort[],
  login: Parameters<typeof openCluster>[1],
  options: Omit<SocketOptions, 'target'>,
  check: Check,
): Promise<Servers> {
  const cluster = await openCluster(seeds, login, options)
  try {
    const checks = cluster.masters().map(async (node) => {
      const onNode: Call = (args) => cluster.callNode(node, args)
      return { name: nameOf(node), gap: await check(onNode, await askInfo(onNode), nameOf(node)) }
    })
    const warnings = warningsOf(await Promise.all(checks))
    return { call: cluster.call, masters: () => cluster.masters().length, warnings, close: cluster.close }
  } catch (error) {
    cluster.close()
    throw error
  }
}

async function askInfo(call: Call): Promise<Info> {
  return readInfo(String(await call(['INFO'])))
}

const PROBE: Script = { name: 'probe', source: 'return 1', sha: 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db' }

type Check = (call: Call, info: Info, name: string) => Promise<string | null>

const unchecked: Check = async () => null

/** Throws what forbids to begin; answers what a crash would cost. */
async function check(call: Call, info: Info, name: string): Promise<string | null> {
  refuseUnfit(info, name)
  await call(['EVAL', PROBE.source, '0'])
  await evaluate(call, PROBE, [], [])
  const persistence = { save: await askConfig(call, 'save'), appendfsync: await askConfig(call, 'appendfsync') }
  return durabilityGap(info, persistence)
}

/** One line for all servers of which the same is to be said. */
function warningsOf(found: readonly { readonly name: string; readonly gap: string | null }[]): string[] {
  const gaps = new Set(found.flatMap(({ gap }) => gap ?? []))
  return [...gaps].map((gap) => {
    const names = found.filter((one) => one.gap === gap).map(({ name }) => name)
    return `Redis at ${names.join(', ')} ${gap}`
  })
}

/** null where CONFIG is forbidden, renamed or left out, as on managed servers. */
async function askConfig(call: Call, setting: string): Promise<string | null> {
  try {
    const reply = await call(['CONFIG', 'GET', setting])
    const value = Array.isArray(reply) ? reply[1] : undefined
    return value === undefined || value === null ? null : String(value)
  } catch (error) {
    if (isReply(error) || (error instanceof ShoalError && error.code === 'queue_forbidden')) return null
    throw error
  }
}

async function evaluate(
  call: Call,
  script: Script,
  keys: readonly string[],
  args: readonly (string | Buffer)[],
): Promise<RedisReply> {
  const rest = [String(keys.length), ...keys, ...args]
  try {
    try {
      return await call(['EVALSHA', script.sha, ...rest])
    } catch (error) {
      if (!isUnknownScript(error)) throw error
      return await call(['EVAL', script.source, ...rest])
    }
  } catch (error) {
    if (isReply(error)) nameFile(error, script)
    throw error
  }
}

/** Redis counts the lines of the whole script, which no file has: the message gets the place in the file. */
function nameFile(error: Error, script: Script): void {
  const line = /user_script: ?(\d+)/.exec(error.message)?.[1]
  const place = line === undefined ? null : placeIn(script, Number(line))
  if (place !== null) error.message = `${error.message} (${place})`
}

/** The file and line of a line of the script, as error messages of Redis number it. */
function placeIn({ parts = [] }: Script, line: number): string | null {
  let left = line
  for (const { file, lines } of parts) {
    if (left <= lines) return `${file}:${left}`
    left -= lines
  }
  return null
}
