import type { ErrorCode } from '../../errors.js'
import { list, number, text } from '../../redis/replies.js'
import type { Fingerprint } from '../../url/link.js'
import type { CrawlId, DeadFilter } from '../frontier.js'
import { decodeItem } from './codec.js'
import type { CrawlViews, DeadGroup } from './crawl-views.js'
import { CHUNK, decodeEnded, LinkReads, type Place } from './link-reads.js'
import type { Shards } from './shards.js'

/** Dead letters searched, from either end, for one of each code. */
const SAMPLED = 1_000

/** Dead letters by their error code, and those that match a filter. */
export class DeadLetters {
  readonly #shards: Shards
  readonly #crawls: CrawlViews
  readonly #reads: LinkReads

  constructor(shards: Shards, crawls: CrawlViews) {
    this.#shards = shards
    this.#crawls = crawls
    this.#reads = new LinkReads(shards)
  }

  async byError(crawl: CrawlId): Promise<DeadGroup[]> {
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
    const noted = (await this.#reads.hash(shard, `xs:${num}`, codes)).flatMap((fp) =>
      fp === null ? [] : [fp.toString()],
    )
    for (const record of await this.#reads.hash(shard, `e:${num}`, noted)) sampled(record)
    for (const [from, to] of [
      [0, SAMPLED - 1],
      [-SAMPLED, -1],
    ]) {
      if (urls.size === codes.length) break
      const fps = list(await this.#shards.command(shard, 'ZRANGE', `x:${num}`, String(from), String(to))).map(text)
      for (const record of await this.#reads.hash(shard, `e:${num}`, fps)) sampled(record)
    }
    return urls
  }

  /** Fingerprints of dead letters that match, some at a time. They are collected before any of them is moved. */
  async *matching(crawl: CrawlId, filter: DeadFilter): AsyncGenerator<{ shard: number; fps: Fingerprint[] }> {
    for (const shard of this.#shards.all) {
      const num = await this.#crawls.number(shard, crawl)
      if (num === null) continue
      const matching: Fingerprint[] = []
      for await (const fps of filter.fp === undefined ? this.#deadFps({ shard, num }) : [[filter.fp]]) {
        const records = await this.#reads.hash(shard, `e:${num}`, fps)
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
    for await (const { members } of this.#reads.zset(shard, `x:${num}`, 0))
      yield members.map(({ member }) => member.toString())
  }
}
