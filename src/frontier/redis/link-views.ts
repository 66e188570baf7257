import { bytes, list } from '../../redis/replies.js'
import type { HostKey } from '../../url/link.js'
import type { LinkInfo, LinkQuery } from '../frontier.js'
import { decodeLease, encodeHistory, HISTORY_BYTES, hostOfLane, type LaneRecord, OUTSIDE_BYTES } from './codec.js'
import type { CrawlViews } from './crawl-views.js'
import { CHUNK, LinkReads, listKey, type Place } from './link-reads.js'
import type { Shards } from './shards.js'

/** Where in its shard a link was found; `at` is where to continue reading. */
interface Found {
  readonly at: Position
  readonly info: LinkInfo
}

/** Section, then what it is read by: an index, or host, queue and index. */
type Position = readonly [section: Section, ...path: (string | number)[]]
type Section = 'leased' | 'delayed' | 'queued' | 'dead' | 'skipped'

const SECTIONS: readonly Section[] = ['leased', 'delayed', 'queued', 'dead', 'skipped']

/** In a position: the links that returned, before the levels of the lists. */
const RETURNED = -1

/** Lists of links. Done links are not among them: they are only counted, and known by their fingerprints. */
export class LinkViews {
  readonly #shards: Shards
  readonly #crawls: CrawlViews
  readonly #reads: LinkReads

  constructor(shards: Shards, crawls: CrawlViews) {
    this.#shards = shards
    this.#crawls = crawls
    this.#reads = new LinkReads(shards)
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
        for await (const { at, info } of this.section(section, { shard, num }, after, query.host)) {
          if (query.host !== undefined && info.host !== query.host) continue
          if (query.code !== undefined && (info.state !== 'dead' || info.failures.at(-1)?.code !== query.code)) continue
          page.push({ ...info, cursor: cursorOf(shard, at) })
          if (page.length >= query.limit) return page
        }
      }
    }
    return page
  }

  section(section: Section, place: Place, after: Position | null, host: HostKey | undefined): AsyncGenerator<Found> {
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
    for await (const { index, members } of this.#reads.zset(shard, 'deadlines', indexAfter(after))) {
      const epochs = members.map(({ member }) => member.toString())
      const [records, offset] = await Promise.all([
        this.#reads.hash(shard, 'leases', epochs),
        this.#reads.offset(shard),
      ])
      const found = records.map(async (record, nth): Promise<Found[]> => {
        if (record === null || record.readUInt32BE(0) !== num) return []
        const lease = decodeLease(record)
        const info = await this.#reads.info({ shard, num }, 'leased', lease.host, encodeHistory(lease), lease.item)
        return [
          { at: ['leased', index + nth], info: { ...info, worker: lease.worker, leasedAt: lease.grantedAt + offset } },
        ]
      })
      yield* (await Promise.all(found)).flat()
    }
  }

  async *#delayed(place: Place, after: Position | null): AsyncGenerator<Found> {
    for await (const { index, members } of this.#reads.zset(place.shard, `d:${place.num}`, indexAfter(after))) {
      const offset = await this.#reads.offset(place.shard)
      const found = members.map(async ({ member, score }, nth): Promise<Found> => {
        const nameEnd = 2 + member.readUInt16BE(0)
        const host = hostOfLane(member.toString('utf8', 2, nameEnd))
        const info = await this.#reads.info(
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
    const names = only === undefined ? this.#reads.hostNames(place, start?.host ?? '') : [only]
    for await (const { host, lanes } of this.#reads.lanesOf(place, names)) {
      for (const lane of lanes) {
        if (start !== null && (host < start.host || (host === start.host && lane.route < start.lane))) continue
        const within = start !== null && host === start.host && lane.route === start.lane ? after : null
        yield* this.#lane(place, host, lane, within)
      }
    }
  }

  async *#lane(place: Place, host: HostKey, lane: LaneRecord, after: Position | null): AsyncGenerator<Found> {
    const { shard, num } = place
    const newestFirst = await this.#reads.newestFirst(place)
    const startQueue = after === null ? RETURNED : Number(after[3])
    const startIndex = after === null ? 0 : Number(after[4]) + 1
    if (startQueue === RETURNED) {
      for await (const { index, members } of this.#reads.zset(shard, `b:${num}:${lane.num}`, startIndex)) {
        for (const [nth, { member }] of members.entries()) {
          const history = member.subarray(0, HISTORY_BYTES)
          const info = await this.#reads.info(place, 'queued', host, history, member.subarray(OUTSIDE_BYTES))
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
          // parts/order.lua, list_rank: newest first, an item starts with its place.
          const info = await this.#reads.info(place, 'queued', host, null, newestFirst ? item.subarray(4) : item)
          yield { at: ['queued', host, lane.route, level, index + nth], info }
        }
        if (items.length < CHUNK) break
      }
    }
  }

  async *#endedLinks(state: 'dead' | 'skipped', place: Place, after: Position | null): AsyncGenerator<Found> {
    const key = `${state === 'dead' ? 'x' : 'y'}:${place.num}`
    for await (const { index, members } of this.#reads.zset(place.shard, key, indexAfter(after))) {
      const infos = await Promise.all(members.map(({ member }) => this.#reads.ended(place, member.toString())))
      for (const [nth, info] of infos.entries()) if (info !== null) yield { at: [state, index + nth], info }
    }
  }
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
