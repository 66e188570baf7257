import type { ErrorCode } from '../../errors.js'
import type { Fingerprint, HostKey } from '../../url/link.js'
import {
  type CrawlId,
  type DeadFilter,
  type LinkInfo,
  type LinkQuery,
  type LinkState,
  POSITION_CAP,
  type Whereabouts,
} from '../frontier.js'
import {
  decimalOf,
  decodeFailures,
  decodeHistory,
  decodeHost,
  decodeItem,
  decodeLease,
  encodeHistory,
  HISTORY_BYTES,
  hostOfLane,
  type LaneRecord,
  OUTSIDE_BYTES,
} from './codec.js'
import type { CrawlViews, DeadGroup } from './crawl-views.js'
import { bytes, list, number, text } from './replies.js'
import type { Shards } from './shards.js'

/** Links read at once. */
const CHUNK = 200
/** The search for one link goes no further than this into a lane; it is the default budget of pages for a host. */
const SEARCH_CAP = 100_000

/** Where in its shard a link was found; `at` is where to go on reading. */
interface Found {
  readonly at: Position
  readonly info: LinkInfo
}

/** Section, then what it is read by: an index, or host, queue and index. */
type Position = readonly [section: Section, ...path: (string | number)[]]
type Section = 'leased' | 'delayed' | 'queued' | 'dead' | 'skipped'

const SECTIONS: readonly Section[] = ['leased', 'delayed', 'queued', 'dead', 'skipped']

/** In a position: the links that came back, before the levels of the lists. */
const RETURNED = -1

interface Place {
  readonly shard: number
  readonly num: number
}

/** What people see of single links. Done links are not here: they are counted, and known by their fingerprints. */
export class LinkViews {
  readonly #shards: Shards
  readonly #crawls: CrawlViews

  constructor(shards: Shards, crawls: CrawlViews) {
    this.#shards = shards
    this.#crawls = crawls
  }

  async links(query: LinkQuery): Promise<LinkInfo[]> {
    await this.#crawls.info(query.crawl)
    const from = query.after === undefined ? null : parseCursor(query.after)
    const page: LinkInfo[] = []
    for (const shard of this.#shards.all) {
      if (from !== null && shard < from.shard) continue
      const num = await this.#crawls.number(shard, query.crawl)
      if (num === null) continue
      for (const section of SECTIONS) {
        if (query.state !== undefined && query.state !== section) continue
        const start = from !== null && shard === from.shard ? from.at : null
        if (start !== null && SECTIONS.indexOf(section) < SECTIONS.indexOf(start[0])) continue
        const after = start !== null && start[0] === section ? start : null
        for await (const { at, info } of this.#section(section, { shard, num }, after, query.host)) {
          if (query.host !== undefined && info.host !== query.host) continue
          if (query.code !== undefined && (info.state !== 'dead' || info.failures.at(-1)?.code !== query.code)) continue
          page.push({ ...info, cursor: cursorOf(shard, at) })
          if (page.length >= query.limit) return page
        }
      }
    }
    return page
  }

  async explain(crawl: CrawlId, fp: Fingerprint, host?: HostKey): Promise<Whereabouts> {
    const { state: crawlState } = await this.#crawls.info(crawl)
    const shards = host === undefined ? this.#shards.all : [this.#shards.of(host)]
    let known = false
    for (const shard of shards) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      if ((await this.#shards.run('seen', shard, [crawl, decimalOf(fp)])) !== 1) continue
      known = true
      const found = await this.#find({ shard, num }, fp, host)
      if (found === null) continue
      const [hostInfo] = await this.#crawls.hostInfos(shard, crawl, [found.info.host])
      if (hostInfo === undefined) continue
      const { info, position } = found
      return { state: info.state, link: info, host: hostInfo, position, crawlState }
    }
    return known ? { state: 'done', link: null, crawlState } : { state: 'unknown' }
  }

  async #find(
    place: Place,
    fp: Fingerprint,
    host: HostKey | undefined,
  ): Promise<{ info: LinkInfo; position: number | null } | null> {
    const ended = await this.#ended(place, fp)
    if (ended !== null) return { info: ended, position: null }
    for (const section of ['leased', 'delayed'] as const) {
      let looked = 0
      for await (const { info } of this.#section(section, place, null, undefined)) {
        if (info.fp === fp) return { info, position: null }
        if (++looked >= SEARCH_CAP) break
      }
    }
    const hosts = host === undefined ? this.#hostNames(place, '') : [host]
    for await (const name of hosts) {
      for (const lane of await this.#lanes(place, name)) {
        const queue: { info: LinkInfo; rank: number }[] = []
        for await (const found of this.#lane(place, name, lane, null)) {
          queue.push({ info: found.info, rank: found.rank })
          if (queue.length >= SEARCH_CAP) break
        }
        if (!queue.some(({ info }) => info.fp === fp)) continue
        queue.sort((a, b) => a.rank - b.rank)
        const position = queue.findIndex(({ info }) => info.fp === fp)
        const found = queue[position]
        if (found !== undefined) return { info: found.info, position: Math.min(position, POSITION_CAP) }
      }
    }
    return null
  }

  async deadByError(crawl: CrawlId): Promise<DeadGroup[]> {
    await this.#crawls.info(crawl)
    const groups = new Map<string, DeadGroup>()
    for (const shard of this.#shards.all) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      const counts = list(await this.#shards.command(shard, 'HGETALL', `xc:${num}`))
      for (let i = 0; i < counts.length; i += 2) {
        const code = text(counts[i]) as ErrorCode
        const count = number(counts[i + 1])
        if (count === 0) continue
        const known = groups.get(code)
        const sample = known?.sample ?? (await this.#sample({ shard, num }, code))
        groups.set(code, { code, count: count + (known?.count ?? 0), sample })
      }
    }
    return [...groups.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))
  }

  async #sample(place: Place, code: string): Promise<string> {
    for await (const { info } of this.#section('dead', place, null, undefined)) {
      if (info.failures.at(-1)?.code === code) return info.url
    }
    return ''
  }

  /** Fingerprints of dead letters that match, some at a time. They are collected before any of them is moved. */
  async *deadMatching(crawl: CrawlId, filter: DeadFilter): AsyncGenerator<{ shard: number; fps: Fingerprint[] }> {
    for (const shard of this.#shards.all) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      const matching: Fingerprint[] = []
      for await (const { info } of this.#section('dead', { shard, num }, null, undefined)) {
        const fits =
          (filter.fp === undefined || info.fp === filter.fp) &&
          (filter.host === undefined || info.host === filter.host) &&
          (filter.code === undefined || info.failures.at(-1)?.code === filter.code)
        if (fits) matching.push(info.fp)
      }
      for (let from = 0; from < matching.length; from += CHUNK) yield { shard, fps: matching.slice(from, from + CHUNK) }
    }
  }

  #section(section: Section, place: Place, after: Position | null, host: HostKey | undefined): AsyncGenerator<Found> {
    switch (section) {
      case 'leased':
        return this.#leased(place, after)
      case 'delayed':
        return this.#delayed(place, after)
      case 'queued':
        return this.#queued(place, after, host)
      case 'dead':
      case 'skipped':
        return this.#endedLinks(section, place, after)
    }
  }

  async *#leased({ shard, num }: Place, after: Position | null): AsyncGenerator<Found> {
    for await (const { index, members } of this.#zset(shard, 'deadlines', indexAfter(after))) {
      const epochs = members.map(({ member }) => member.toString())
      const [records, offset] = await Promise.all([this.#hash(shard, 'leases', epochs), this.#offset(shard)])
      const found = records.map(async (record, nth): Promise<Found[]> => {
        if (record === null || record.readUInt32BE(0) !== num) return []
        const lease = decodeLease(record)
        const info = await this.#info({ shard, num }, 'leased', lease.host, encodeHistory(lease), lease.item)
        return [
          { at: ['leased', index + nth], info: { ...info, worker: lease.worker, leasedAt: lease.grantedAt + offset } },
        ]
      })
      yield* (await Promise.all(found)).flat()
    }
  }

  async *#delayed(place: Place, after: Position | null): AsyncGenerator<Found> {
    for await (const { index, members } of this.#zset(place.shard, `d:${place.num}`, indexAfter(after))) {
      const offset = await this.#offset(place.shard)
      const found = members.map(async ({ member, score }, nth): Promise<Found> => {
        const nameEnd = 2 + member.readUInt16BE(0)
        const host = hostOfLane(member.toString('utf8', 2, nameEnd))
        const info = await this.#info(
          place,
          'delayed',
          host,
          member.subarray(nameEnd, nameEnd + HISTORY_BYTES),
          member.subarray(nameEnd + OUTSIDE_BYTES),
        )
        return { at: ['delayed', index + nth], info: { ...info, dueAt: score + offset } }
      })
      yield* await Promise.all(found)
    }
  }

  async *#queued(place: Place, after: Position | null, only: HostKey | undefined): AsyncGenerator<Found> {
    const start = after === null ? null : { host: String(after[1]), lane: String(after[2]) }
    const names = only === undefined ? this.#hostNames(place, start?.host ?? '') : [only]
    for await (const { host, lanes } of this.#lanesOf(place, names)) {
      for (const lane of lanes) {
        if (start !== null && (host < start.host || (host === start.host && lane.route < start.lane))) continue
        const within = start !== null && host === start.host && lane.route === start.lane ? after : null
        for await (const { at, info } of this.#lane(place, host, lane, within)) yield { at, info }
      }
    }
  }

  async *#lane(
    place: Place,
    host: HostKey,
    lane: LaneRecord,
    after: Position | null,
  ): AsyncGenerator<Found & { rank: number }> {
    const { shard, num } = place
    const spec = await this.#shards.command(shard, 'HGET', `c:${num}`, 's')
    const newestFirst = spec !== null && bytes(spec)[0] === 2
    const startQueue = after === null ? RETURNED : Number(after[3])
    const startIndex = after === null ? 0 : Number(after[4]) + 1
    if (startQueue === RETURNED) {
      for await (const { index, members } of this.#zset(shard, `b:${num}:${lane.num}`, startIndex)) {
        for (const [nth, { member, score }] of members.entries()) {
          const history = member.subarray(0, HISTORY_BYTES)
          const info = await this.#info(place, 'queued', host, history, member.subarray(OUTSIDE_BYTES))
          yield { at: ['queued', host, lane.route, RETURNED, index + nth], info, rank: score }
        }
      }
    }
    for (const { level, popped } of lane.levels) {
      if (level < startQueue) continue
      const key = `q:${num}:${level}:${lane.route === '' ? host : `${host}\n${lane.route}`}`
      for (let index = level === startQueue ? startIndex : 0; ; index += CHUNK) {
        const chunk = await this.#shards.command(shard, 'LRANGE', key, String(index), String(index + CHUNK - 1))
        const items = list(chunk).map(bytes)
        for (const [nth, item] of items.entries()) {
          // prelude.lua, list_rank: newest first, an item has its place in front.
          const info = await this.#info(place, 'queued', host, null, newestFirst ? item.subarray(4) : item)
          const inLevel = newestFirst ? 2 ** 32 - 1 - item.readUInt32BE(0) : popped + index + nth + 1
          yield { at: ['queued', host, lane.route, level, index + nth], info, rank: level * 2 ** 32 + inLevel }
        }
        if (items.length < CHUNK) break
      }
    }
  }

  async *#endedLinks(state: 'dead' | 'skipped', place: Place, after: Position | null): AsyncGenerator<Found> {
    const key = `${state === 'dead' ? 'x' : 'y'}:${place.num}`
    for await (const { index, members } of this.#zset(place.shard, key, indexAfter(after))) {
      const infos = await Promise.all(members.map(({ member }) => this.#ended(place, member.toString())))
      for (const [nth, info] of infos.entries()) if (info !== null) yield { at: [state, index + nth], info }
    }
  }

  /** A dead letter or skipped link: state, time, code, lane, history, item. */
  async #ended(place: Place, fp: Fingerprint): Promise<LinkInfo | null> {
    const reply = await this.#shards.command(place.shard, 'HGET', `e:${place.num}`, fp)
    if (reply === null) return null
    const record = bytes(reply)
    const laneAt = 10 + (record[9] ?? 0)
    const nameEnd = laneAt + 2 + record.readUInt16BE(laneAt)
    const host = hostOfLane(record.toString('utf8', laneAt + 2, nameEnd))
    const info = await this.#info(
      place,
      record[0] === 4 ? 'dead' : 'skipped',
      host,
      record.subarray(nameEnd, nameEnd + HISTORY_BYTES),
      record.subarray(nameEnd + OUTSIDE_BYTES),
    )
    return { ...info, endedAt: record.readDoubleBE(1) }
  }

  async #info(
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

  async *#hostNames({ shard, num }: Place, from: string): AsyncGenerator<HostKey> {
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
  async #lanes({ shard, num }: Place, host: HostKey): Promise<LaneRecord[]> {
    const [record = null] = await this.#hash(shard, 'h', [host])
    return lanesIn(record, num)
  }

  /** The same of many hosts, some at a time: most of them may have nothing left. */
  async *#lanesOf(
    { shard, num }: Place,
    names: AsyncIterable<HostKey> | Iterable<HostKey>,
  ): AsyncGenerator<{ host: HostKey; lanes: LaneRecord[] }> {
    let hosts: HostKey[] = []
    const read = async () => {
      const records = await this.#hash(shard, 'h', hosts)
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

  async *#zset(
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

  async #hash(shard: number, key: string, names: readonly string[]): Promise<(Buffer | null)[]> {
    if (names.length === 0) return []
    const reply = await this.#shards.command(shard, 'HMGET', key, ...names)
    return list(reply).map((value) => (value === null ? null : bytes(value)))
  }

  /** What to add to the queue's own time to get the time of people: the two part when the queue was silent. */
  async #offset(shard: number): Promise<number> {
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

function indexAfter(after: Position | null): number {
  return after === null ? 0 : Number(after[1]) + 1
}

function cursorOf(shard: number, at: Position): string {
  return Buffer.from(JSON.stringify([shard, ...at])).toString('base64url')
}

function parseCursor(cursor: string): { shard: number; at: Position } | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (!Array.isArray(parsed)) return null
    const [shard, section, ...path] = parsed as [number, Section, ...(string | number)[]]
    return SECTIONS.includes(section) ? { shard, at: [section, ...path] } : null
  } catch {
    return null
  }
}
