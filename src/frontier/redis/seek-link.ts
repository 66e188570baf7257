import { bytes, list } from '../../redis/replies.js'
import type { Fingerprint, HostKey } from '../../url/link.js'
import { POSITION_CAP } from '../frontier.js'
import {
  DEAD_LETTER,
  decodeHost,
  decodeItem,
  decodeLease,
  hostOfLane,
  type LaneRecord,
  NEWEST_FIRST,
  OUTSIDE_BYTES,
} from './codec.js'
import type { Shards } from './shards.js'

/** Links read at once. */
const CHUNK = 500
/** Delayed and leased links are not kept by host: of a whole shard no more than this many are read. */
const SHARD_CAP = 100_000

/** Where steer.lua finds a link again, unless it moves first. */
interface Spot {
  readonly where: 'queued' | 'returned' | 'delayed' | 'dead'
  readonly lane: string
  readonly level: number
  /** The item of a list, the member of a zset. */
  readonly held: Buffer
}

/** `ended`: done or skipped. `too_far`: it may be further back in the queue than the search goes. */
export type Sought = Spot | 'in_flight' | 'ended' | 'too_far' | 'unknown'

export interface Seek {
  readonly shards: Shards
  readonly shard: number
  readonly num: number
  readonly fp: Fingerprint
  readonly host: HostKey
}

/**
 * Searches for a link that its shard has seen, with reads that each take little of the server's time. The order is the one in which a link moves, from the
 * queue to a worker to its end, so that it cannot slip past; one that falls due or returns meanwhile can, so a search that found nothing is repeated once.
 */
export async function seekLink(seek: Seek): Promise<Sought> {
  return (await seekOnce(seek)) ?? (await seekOnce(seek)) ?? 'ended'
}

async function seekOnce(seek: Seek): Promise<Sought | null> {
  const { shards, shard, num, host } = seek
  const record = await shards.command(shard, 'HGET', 'h', host)
  const lanes = record === null ? [] : decodeHost(bytes(record)).lanes.filter((lane) => lane.crawl === num)
  let tooFar = false
  const places = [
    () => inQueue(seek, lanes),
    async () => (lanes.some((lane) => lane.delayed > 0) ? inDelayed(seek) : null),
    async () => (lanes.some((lane) => lane.leased > 0) ? inFlightOf(seek) : null),
  ]
  for (const search of places) {
    const found = await search()
    if (found === 'too_far') tooFar = true
    else if (found !== null) return found
  }
  return (await atItsEnd(seek)) ?? (tooFar ? 'too_far' : null)
}

async function inQueue(seek: Seek, lanes: readonly LaneRecord[]): Promise<Spot | 'too_far' | null> {
  const { shards, shard, num, host } = seek
  const spec = await shards.command(shard, 'HGET', `c:${num}`, 's')
  const newestFirst = spec !== null && bytes(spec)[0] === NEWEST_FIRST
  let left = POSITION_CAP
  for (const record of lanes) {
    const lane = record.route === '' ? host : `${host}\n${record.route}`
    const returned = `b:${num}:${record.num}`
    for await (const member of elements(shards, shard, 'ZRANGE', returned, false)) {
      if (isIt(seek, member.subarray(OUTSIDE_BYTES))) return { where: 'returned', lane, level: 0, held: member }
      if (--left <= 0) return 'too_far'
    }
    for (const { level } of record.levels) {
      for await (const item of elements(shards, shard, 'LRANGE', `q:${num}:${level}:${lane}`, newestFirst)) {
        // parts/order.lua, list_rank: newest first, an item starts with its place.
        if (isIt(seek, newestFirst ? item.subarray(4) : item)) return { where: 'queued', lane, level, held: item }
        if (--left <= 0) return 'too_far'
      }
    }
  }
  return null
}

async function inDelayed(seek: Seek): Promise<Spot | 'too_far' | null> {
  const { shards, shard, num, host } = seek
  let left = SHARD_CAP
  for await (const member of elements(shards, shard, 'ZRANGE', `d:${num}`, false)) {
    const nameEnd = 2 + member.readUInt16BE(0)
    const lane = member.toString('utf8', 2, nameEnd)
    if (hostOfLane(lane) === host && isIt(seek, member.subarray(nameEnd + OUTSIDE_BYTES)))
      return { where: 'delayed', lane, level: 0, held: member }
    if (--left <= 0) return 'too_far'
  }
  return null
}

async function inFlightOf(seek: Seek): Promise<'in_flight' | 'too_far' | null> {
  const { shards, shard, num, host } = seek
  for (let index = 0; index < SHARD_CAP; index += CHUNK) {
    const range = [String(index), String(index + CHUNK - 1)]
    const epochs = list(await shards.command(shard, 'ZRANGE', 'deadlines', ...range)).map(bytes)
    if (epochs.length === 0) return null
    for (const record of list(await shards.command(shard, 'HMGET', 'leases', ...epochs))) {
      if (record === null || bytes(record).readUInt32BE(0) !== num) continue
      const lease = decodeLease(bytes(record))
      if (lease.host === host && isIt(seek, lease.item)) return 'in_flight'
    }
    if (epochs.length < CHUNK) return null
  }
  return 'too_far'
}

async function atItsEnd({ shards, shard, num, fp, host }: Seek): Promise<Sought | null> {
  const reply = await shards.command(shard, 'HGET', `e:${num}`, fp)
  if (reply === null) return null
  const record = bytes(reply)
  const laneAt = 10 + (record[9] ?? 0)
  const lane = record.toString('utf8', laneAt + 2, laneAt + 2 + record.readUInt16BE(laneAt))
  if (hostOfLane(lane) !== host) return 'unknown'
  return record[0] === DEAD_LETTER ? { where: 'dead', lane, level: 0, held: Buffer.alloc(0) } : 'ended'
}

/** From the front, or from the back. */
async function* elements(
  shards: Shards,
  shard: number,
  command: 'LRANGE' | 'ZRANGE',
  key: string,
  fromBack: boolean,
): AsyncGenerator<Buffer> {
  for (let index = 0; ; index += CHUNK) {
    const [from, to] = fromBack ? [-index - CHUNK, -index - 1] : [index, index + CHUNK - 1]
    const chunk = list(await shards.command(shard, command, key, String(from), String(to))).map(bytes)
    yield* fromBack ? chunk.reverse() : chunk
    if (chunk.length < CHUNK) return
  }
}

function isIt({ fp, host }: Seek, item: Buffer): boolean {
  return decodeItem(item, host).link.fp === fp
}
