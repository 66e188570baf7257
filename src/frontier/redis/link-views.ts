import type { ErrorCode } from '../../errors.js'
import { bytes, list, number, text } from '../../redis/replies.js'
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
  DEAD_LETTER,
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
  LEVEL,
  NEWEST_FIRST,
  OUTSIDE_BYTES,
} from './codec.js'
import type { CrawlViews, DeadGroup } from './crawl-views.js'
import type { Shards } from './shards.js'

/** Links read at once. */
const CHUNK = 200
/** The search for one link goes no further than this into a lane; it is the default budget of pages for a host. */
const SEARCH_CAP = 100_000
const SEARCHED_AT_ONCE = 1_000
/** Dead letters looked through, from either end, for one of each code. */
const SAMPLED = 1_000

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
        const found = await this.#inLane(place, name, lane, fp)
        if (found !== null) return { ...found, position: Math.min(found.position, POSITION_CAP) }
      }
    }
    return null
  }

  /** Read from where it is handed out, as far as the link; those in front of it are counted by the server. */
  async #inLane(
    place: Place,
    host: HostKey,
    lane: LaneRecord,
    fp: Fingerprint,
  ): Promise<{ info: LinkInfo; position: number } | null> {
    const { shard, num } = place
    const isIt = (item: Buffer) => decodeItem(item, host).link.fp === fp
    const returned = `b:${num}:${lane.num}`
    let left = SEARCH_CAP
    for await (const { index, members } of this.#zset(shard, returned, 0)) {
      const nth = members.findIndex(({ member }) => isIt(member.subarray(OUTSIDE_BYTES)))
      const found = members[nth]
      if (found !== undefined) {
        const { member, score } = found
        const history = member.subarray(0, HISTORY_BYTES)
        const info = await this.#info(place, 'queued', host, history, member.subarray(OUTSIDE_BYTES))
        return { info, position: index + nth + (await this.#listedBefore(place, host, lane, score)) }
      }
      left -= members.length
      if (left <= 0) return null
    }
    const newestFirst = await this.#newestFirst(place)
    let before = 0
    for (const { level, popped } of lane.levels) {
      for await (const { index, items } of this.#listed(place, host, lane, level, newestFirst)) {
        const nth = items.findIndex((item) => isIt(newestFirst ? item.subarray(4) : item))
        const item = items[nth]
        if (item !== undefined) {
          const info = await this.#info(place, 'queued', host, null, newestFirst ? item.subarray(4) : item)
          const rank = rankOf(level, newestFirst ? item : popped + index + nth + 1)
          const back = number(await this.#shards.command(shard, 'ZCOUNT', returned, '-inf', String(rank)))
          return { info, position: before + index + nth + back }
        }
        left -= items.length
        if (left <= 0) return null
      }
      before += number(await this.#shards.command(shard, 'LLEN', listKey(place, level, host, lane)))
    }
    return null
  }

  /** Links in the lists of a lane that come before a rank. */
  async #listedBefore(place: Place, host: HostKey, lane: LaneRecord, rank: number): Promise<number> {
    const newestFirst = await this.#newestFirst(place)
    let before = 0
    for (const { level, popped } of lane.levels) {
      if (rankOf(level, 0) >= rank) break
      const length = number(await this.#shards.command(place.shard, 'LLEN', listKey(place, level, host, lane)))
      if (rankOf(level + 1, 0) <= rank) before += length
      else if (!newestFirst) before += Math.min(length, Math.max(0, Math.ceil(rank - rankOf(level, popped + 1))))
      else
        for await (const { items } of this.#listed(place, host, lane, level, true)) {
          const first = items.findIndex((item) => rankOf(level, item) >= rank)
          before += first < 0 ? items.length : first
          if (first >= 0 || before >= POSITION_CAP) break
        }
    }
    return before
  }

  /** The list of a level, some at a time, as they are handed out. */
  async *#listed(
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

  async #newestFirst({ shard, num }: Place): Promise<boolean> {
    const spec = await this.#shards.command(shard, 'HGET', `c:${num}`, 's')
    return spec !== null && bytes(spec)[0] === NEWEST_FIRST
  }

  async deadByError(crawl: CrawlId): Promise<DeadGroup[]> {
    await this.#crawls.info(crawl)
    const groups = new Map<string, DeadGroup>()
    for (const shard of this.#shards.all) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      const counts = list(await this.#shards.command(shard, 'HGETALL', `xc:${num}`))
      const here = new Map<ErrorCode, number>()
      for (let i = 0; i < counts.length; i += 2) {
        const count = number(counts[i + 1])
        if (count > 0) here.set(text(counts[i]) as ErrorCode, count)
      }
      const samples = await this.#samples({ shard, num }, [...here.keys()])
      for (const [code, count] of here) {
        const known = groups.get(code)
        const sample = known?.sample || (samples.get(code) ?? '')
        groups.set(code, { code, count: count + (known?.count ?? 0), sample })
      }
    }
    return [...groups.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))
  }

  /** The URL of one dead letter of each code. One that is not noted is looked for among the oldest and the newest only. */
  async #samples(place: Place, codes: readonly string[]): Promise<Map<string, string>> {
    const { shard, num } = place
    const urls = new Map<string, string>()
    const sampled = (record: Buffer | null) => {
      const dead = record === null ? null : decodeEnded(record)
      if (dead?.state === 'dead' && codes.includes(dead.code) && !urls.has(dead.code))
        urls.set(dead.code, decodeItem(dead.item, dead.host).link.url)
    }
    const noted = (await this.#hash(shard, `xs:${num}`, codes)).flatMap((fp) => (fp === null ? [] : [fp.toString()]))
    for (const record of await this.#hash(shard, `e:${num}`, noted)) sampled(record)
    for (const [from, to] of [
      [0, SAMPLED - 1],
      [-SAMPLED, -1],
    ]) {
      if (urls.size === codes.length) break
      const fps = list(await this.#shards.command(shard, 'ZRANGE', `x:${num}`, String(from), String(to))).map(text)
      for (const record of await this.#hash(shard, `e:${num}`, fps)) sampled(record)
    }
    return urls
  }

  /** Fingerprints of dead letters that match, some at a time. They are collected before any of them is moved. */
  async *deadMatching(crawl: CrawlId, filter: DeadFilter): AsyncGenerator<{ shard: number; fps: Fingerprint[] }> {
    for (const shard of this.#shards.all) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      const matching: Fingerprint[] = []
      for await (const fps of filter.fp === undefined ? this.#deadFps({ shard, num }) : [[filter.fp]]) {
        const records = await this.#hash(shard, `e:${num}`, fps)
        for (const [nth, fp] of fps.entries()) {
          const record = records[nth] ?? null
          const dead = record === null ? null : decodeEnded(record)
          const fits =
            dead?.state === 'dead' &&
            (filter.host === undefined || dead.host === filter.host) &&
            (filter.code === undefined || dead.code === filter.code)
          if (fits) matching.push(fp)
        }
      }
      for (let from = 0; from < matching.length; from += CHUNK) yield { shard, fps: matching.slice(from, from + CHUNK) }
    }
  }

  async *#deadFps({ shard, num }: Place): AsyncGenerator<Fingerprint[]> {
    for await (const { members } of this.#zset(shard, `x:${num}`, 0))
      yield members.map(({ member }) => member.toString())
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
        yield* this.#lane(place, host, lane, within)
      }
    }
  }

  async *#lane(place: Place, host: HostKey, lane: LaneRecord, after: Position | null): AsyncGenerator<Found> {
    const { shard, num } = place
    const newestFirst = await this.#newestFirst(place)
    const startQueue = after === null ? RETURNED : Number(after[3])
    const startIndex = after === null ? 0 : Number(after[4]) + 1
    if (startQueue === RETURNED) {
      for await (const { index, members } of this.#zset(shard, `b:${num}:${lane.num}`, startIndex)) {
        for (const [nth, { member }] of members.entries()) {
          const history = member.subarray(0, HISTORY_BYTES)
          const info = await this.#info(place, 'queued', host, history, member.subarray(OUTSIDE_BYTES))
          yield { at: ['queued', host, lane.route, RETURNED, index + nth], info }
        }
      }
    }
    for (const { level } of lane.levels) {
      if (level < startQueue) continue
      const key = listKey(place, level, host, lane)
      for (let index = level === startQueue ? startIndex : 0; ; index += CHUNK) {
        const chunk = await this.#shards.command(shard, 'LRANGE', key, String(index), String(index + CHUNK - 1))
        const items = list(chunk).map(bytes)
        for (const [nth, item] of items.entries()) {
          // prelude.lua, list_rank: newest first, an item has its place in front.
          const info = await this.#info(place, 'queued', host, null, newestFirst ? item.subarray(4) : item)
          yield { at: ['queued', host, lane.route, level, index + nth], info }
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

  async #ended(place: Place, fp: Fingerprint): Promise<LinkInfo | null> {
    const reply = await this.#shards.command(place.shard, 'HGET', `e:${place.num}`, fp)
    if (reply === null) return null
    const { state, endedAt, host, history, item } = decodeEnded(bytes(reply))
    return { ...(await this.#info(place, state, host, history, item)), endedAt }
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

/** A dead letter or skipped link: state, time, code, lane, history, item. */
function decodeEnded(record: Buffer) {
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

function listKey({ num }: Place, level: number, host: HostKey, { route }: LaneRecord): string {
  return `q:${num}:${level}:${route === '' ? host : `${host}\n${route}`}`
}

/** prelude.lua, list_rank: by the place in the level, which newest first stands before the item. */
function rankOf(level: number, at: number | Buffer): number {
  return level * LEVEL + (typeof at === 'number' ? at : LEVEL - 1 - at.readUInt32BE(0))
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
