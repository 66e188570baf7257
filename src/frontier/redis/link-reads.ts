import { bytes, list, number, text } from '../../redis/replies.js'
import type { Fingerprint, HostKey } from '../../url/link.js'
import type { LinkInfo, LinkState } from '../frontier.js'
import {
  DEAD_LETTER,
  decodeFailures,
  decodeHistory,
  decodeHost,
  decodeItem,
  HISTORY_BYTES,
  hostOfLane,
  type LaneRecord,
  LEVEL,
  NEWEST_FIRST,
  OUTSIDE_BYTES,
} from './codec.js'
import type { Shards } from './shards.js'

/** Links read at once. */
export const CHUNK = 200
const SEARCHED_AT_ONCE = 1_000

/** A crawl's part in a shard. */
export interface Place {
  readonly shard: number
  readonly num: number
}

/** Reads of single links and their queues, each of which takes little of the server's time. */
export class LinkReads {
  readonly #shards: Shards

  constructor(shards: Shards) {
    this.#shards = shards
  }

  /** The list of a level, some at a time, as they are handed out. */
  async *listed(
    place: Place,
    host: HostKey,
    lane: LaneRecord,
    level: number,
    newestFirst: boolean,
  ): AsyncGenerator<{ index: number; items: Buffer[] }> {
    const key = listKey(place, level, host, lane)
    for (let index = 0; ; index += SEARCHED_AT_ONCE) {
      const last = index + SEARCHED_AT_ONCE
      const [from, to] = newestFirst ? [-last, -index - 1] : [index, last - 1]
      const items = list(await this.#shards.command(place.shard, 'LRANGE', key, String(from), String(to))).map(bytes)
      yield { index, items: newestFirst ? items.reverse() : items }
      if (items.length < SEARCHED_AT_ONCE) return
    }
  }

  async newestFirst({ shard, num }: Place): Promise<boolean> {
    const spec = await this.#shards.command(shard, 'HGET', `c:${num}`, 's')
    return spec !== null && bytes(spec)[0] === NEWEST_FIRST
  }

  async ended(place: Place, fp: Fingerprint): Promise<LinkInfo | null> {
    const reply = await this.#shards.command(place.shard, 'HGET', `e:${place.num}`, fp)
    if (reply === null) return null
    const { state, endedAt, host, history, item } = decodeEnded(bytes(reply))
    return { ...(await this.info(place, state, host, history, item)), endedAt }
  }

  async info(
    place: Place,
    state: LinkState,
    host: HostKey,
    historyBytes: Buffer | null,
    item: Buffer,
  ): Promise<LinkInfo> {
    const { link, addedAt } = decodeItem(item, host)
    const history = historyBytes === null ? null : decodeHistory(historyBytes)
    const { delayMs: _, ...shown } = link
    const kept = history === null ? null : await this.#shards.command(place.shard, 'HGET', `f:${place.num}`, link.fp)
    return {
      cursor: '',
      ...shown,
      state,
      attempts: history?.attempts ?? 0,
      throttles: history?.throttles ?? 0,
      reclaims: history?.reclaims ?? 0,
      addedAt,
      dueAt: null,
      worker: null,
      leasedAt: null,
      endedAt: null,
      failures: decodeFailures(kept === null ? null : bytes(kept)),
    }
  }

  async *hostNames({ shard, num }: Place, from: string): AsyncGenerator<HostKey> {
    let start = from === '' ? '-' : `[${from}`
    for (;;) {
      const names = list(
        await this.#shards.command(shard, 'ZRANGEBYLEX', `n:${num}`, start, '+', 'LIMIT', '0', String(CHUNK)),
      ).map(text)
      yield* names
      const last = names.at(-1)
      if (last === undefined || names.length < CHUNK) return
      start = `(${last}`
    }
  }

  /** The crawl's lanes on a host, by route. */
  async lanes({ shard, num }: Place, host: HostKey): Promise<LaneRecord[]> {
    const [record = null] = await this.hash(shard, 'h', [host])
    return lanesIn(record, num)
  }

  /** The same of many hosts, some at a time: most of them may have nothing left. */
  async *lanesOf(
    { shard, num }: Place,
    names: AsyncIterable<HostKey> | Iterable<HostKey>,
  ): AsyncGenerator<{ host: HostKey; lanes: LaneRecord[] }> {
    let hosts: HostKey[] = []
    const read = async () => {
      const records = await this.hash(shard, 'h', hosts)
      const read = hosts.map((host, nth) => ({ host, lanes: lanesIn(records[nth] ?? null, num) }))
      hosts = []
      return read
    }
    for await (const host of names) {
      hosts.push(host)
      if (hosts.length === CHUNK) yield* await read()
    }
    yield* await read()
  }

  async *zset(
    shard: number,
    key: string,
    from: number,
  ): AsyncGenerator<{ index: number; members: { member: Buffer; score: number }[] }> {
    for (let index = from; ; index += CHUNK) {
      const reply = list(
        await this.#shards.command(shard, 'ZRANGE', key, String(index), String(index + CHUNK - 1), 'WITHSCORES'),
      )
      const members: { member: Buffer; score: number }[] = []
      for (let i = 0; i + 1 < reply.length; i += 2)
        members.push({ member: bytes(reply[i]), score: number(reply[i + 1]) })
      yield { index, members }
      if (members.length < CHUNK) return
    }
  }

  async hash(shard: number, key: string, names: readonly string[]): Promise<(Buffer | null)[]> {
    if (names.length === 0) return []
    const reply = await this.#shards.command(shard, 'HMGET', key, ...names)
    return list(reply).map((value) => (value === null ? null : bytes(value)))
  }

  /** What to add to the queue's own time to get the time of people: they differ after the queue was silent. */
  async offset(shard: number): Promise<number> {
    const seen = await this.#shards.command(shard, 'GET', 'clock')
    return seen === null ? 0 : bytes(seen).readDoubleBE(0) - bytes(seen).readDoubleBE(8)
  }
}

function lanesIn(record: Buffer | null, num: number): LaneRecord[] {
  if (record === null) return []
  return decodeHost(record)
    .lanes.filter((lane) => lane.crawl === num)
    .sort((a, b) => (a.route < b.route ? -1 : 1))
}

/** A dead letter or skipped link: state, time, code, lane, history, item. */
export function decodeEnded(record: Buffer) {
  const laneAt = 10 + (record[9] ?? 0)
  const nameEnd = laneAt + 2 + record.readUInt16BE(laneAt)
  return {
    state: record[0] === DEAD_LETTER ? 'dead' : 'skipped',
    endedAt: record.readDoubleBE(1),
    code: record.toString('utf8', 10, laneAt),
    host: hostOfLane(record.toString('utf8', laneAt + 2, nameEnd)),
    history: record.subarray(nameEnd, nameEnd + HISTORY_BYTES),
    item: record.subarray(nameEnd + OUTSIDE_BYTES),
  } as const
}

export function listKey({ num }: Place, level: number, host: HostKey, { route }: LaneRecord): string {
  return `q:${num}:${level}:${route === '' ? host : `${host}\n${route}`}`
}

/** parts/order.lua, list_rank: by the place in the level; newest first, the item starts with it. */
export function rankOf(level: number, at: number | Buffer): number {
  return level * LEVEL + (typeof at === 'number' ? at : LEVEL - 1 - at.readUInt32BE(0))
}
