import { number } from '../../redis/replies.js'
import type { Fingerprint, HostKey } from '../../url/link.js'
import { type CrawlId, type LinkInfo, POSITION_CAP, type Whereabouts } from '../frontier.js'
import { decimalOf, decodeItem, HISTORY_BYTES, type LaneRecord, OUTSIDE_BYTES } from './codec.js'
import type { CrawlViews } from './crawl-views.js'
import { LinkReads, listKey, type Place, rankOf } from './link-reads.js'
import type { LinkViews } from './link-views.js'
import type { Shards } from './shards.js'

/** The search for one link goes no further than this into a lane; it is the default budget of pages for a host. */
const SEARCH_CAP = 100_000

/** Where one link is. */
export class LinkSearch {
  readonly #shards: Shards
  readonly #crawls: CrawlViews
  readonly #views: LinkViews
  readonly #reads: LinkReads

  constructor(shards: Shards, crawls: CrawlViews, views: LinkViews) {
    this.#shards = shards
    this.#crawls = crawls
    this.#views = views
    this.#reads = new LinkReads(shards)
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
    const ended = await this.#reads.ended(place, fp)
    if (ended !== null) return { info: ended, position: null }
    for (const section of ['leased', 'delayed'] as const) {
      let looked = 0
      for await (const { info } of this.#views.section(section, place, null, undefined)) {
        if (info.fp === fp) return { info, position: null }
        if (++looked >= SEARCH_CAP) break
      }
    }
    const hosts = host === undefined ? this.#reads.hostNames(place, '') : [host]
    for await (const name of hosts) {
      for (const lane of await this.#reads.lanes(place, name)) {
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
    for await (const { index, members } of this.#reads.zset(shard, returned, 0)) {
      const nth = members.findIndex(({ member }) => isIt(member.subarray(OUTSIDE_BYTES)))
      const found = members[nth]
      if (found !== undefined) {
        const { member, score } = found
        const history = member.subarray(0, HISTORY_BYTES)
        const info = await this.#reads.info(place, 'queued', host, history, member.subarray(OUTSIDE_BYTES))
        return { info, position: index + nth + (await this.#listedBefore(place, host, lane, score)) }
      }
      left -= members.length
      if (left <= 0) return null
    }
    const newestFirst = await this.#reads.newestFirst(place)
    let before = 0
    for (const { level, popped } of lane.levels) {
      for await (const { index, items } of this.#reads.listed(place, host, lane, level, newestFirst)) {
        const nth = items.findIndex((item) => isIt(newestFirst ? item.subarray(4) : item))
        const item = items[nth]
        if (item !== undefined) {
          const info = await this.#reads.info(place, 'queued', host, null, newestFirst ? item.subarray(4) : item)
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
    const newestFirst = await this.#reads.newestFirst(place)
    let before = 0
    for (const { level, popped } of lane.levels) {
      if (rankOf(level, 0) >= rank) break
      const length = number(await this.#shards.command(place.shard, 'LLEN', listKey(place, level, host, lane)))
      if (rankOf(level + 1, 0) <= rank) before += length
      else if (!newestFirst) before += Math.min(length, Math.max(0, Math.ceil(rank - rankOf(level, popped + 1))))
      else
        for await (const { items } of this.#reads.listed(place, host, lane, level, true)) {
          const first = items.findIndex((item) => rankOf(level, item) >= rank)
          before += first < 0 ? items.length : first
          if (first >= 0 || before >= POSITION_CAP) break
        }
    }
    return before
  }
}
