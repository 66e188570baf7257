import type { RedisReply } from '../../redis/connection.js'
import { bytes, list, number, text } from '../../redis/replies.js'
import type { CrawlId, Lease, LeaseReply } from '../frontier.js'
import { decodeItem, decodeLease } from './codec.js'
import { tokenOf } from './token.js'

interface LeasingCrawl {
  readonly id: CrawlId
  readonly gen: number
  readonly visibilityMs: number
}

/** What lease.lua of one shard answers; `quiet` are crawls that have nothing to do there. */
export function decodeLeaseReply(
  shard: number,
  reply: RedisReply,
): LeaseReply & { readonly leases: readonly Lease[]; readonly quiet: readonly CrawlId[] } {
  const [idleMs, drain, names, records, quiet, now, deadlines] = list(reply)
  const crawls = new Map<number, LeasingCrawl>()
  const known = list(names)
  for (let i = 0; i < known.length; i += 4) {
    const [num, id, gen, visibilityMs] = known.slice(i, i + 4)
    crawls.set(number(num), { id: text(id), gen: number(gen), visibilityMs: number(visibilityMs) })
  }
  const flat = list(records)
  const leases: Lease[] = []
  for (let i = 0; i < flat.length; i += 2) {
    const { lease, grantedAt } = decode(shard, text(flat[i]), bytes(flat[i + 1]), crawls)
    const deadline = list(deadlines)[i / 2]
    // A repeated call: what is left of permit and lease is counted from the first answer.
    const left = deadline && {
      permitMs: Math.max(0, lease.permitMs - (number(now) - grantedAt)),
      visibilityMs: number(deadline) - number(now),
    }
    leases.push({ ...lease, ...left })
  }
  return { leases, idleMs: number(idleMs), drain: drain === 1, quiet: list(quiet).map(text) }
}

function decode(
  shard: number,
  epoch: string,
  record: Buffer,
  crawls: ReadonlyMap<number, LeasingCrawl>,
): { readonly lease: Lease; readonly grantedAt: number } {
  const { num, host, grantedAt, permitMs, attempts, throttles, bypassFresh, item } = decodeLease(record)
  const crawl = crawls.get(num)
  if (crawl === undefined) throw new TypeError('the queue leased a link of a crawl that it did not name')
  const { link } = decodeItem(item, host)
  const { id, gen, visibilityMs } = crawl
  const token = tokenOf({ shard, crawl: String(num), epoch, fp: link.fp })
  const attempt = attempts + 1
  return {
    lease: { crawl: id, token, link, attempt, throttles, gen, epoch, permitMs, visibilityMs, bypassFresh },
    grantedAt,
  }
}
