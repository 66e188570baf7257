import type {
  Capabilities,
  LeaseReply,
  LeaseRequest,
  LinkInfo,
  LinkQuery,
  Whereabouts,
} from '../../src/frontier/frontier.js'
import { MemoryFrontier } from '../../src/frontier/memory/memory-frontier.js'

/** The model as an engine that promises less: what is done is only counted, the rest is listed in an order of its own. */
export class CountingMemory extends MemoryFrontier {
  override readonly can: Capabilities = {
    priorities: 'exact',
    shared: false,
    durable: false,
    ended: 'counted',
    leasesWithoutPermit: true,
    seen: [],
  }

  override async links({ limit, after, ...query }: LinkQuery): Promise<LinkInfo[]> {
    const all = await super.links({ ...query, limit: Number.POSITIVE_INFINITY })
    return all
      .filter((link) => link.state !== 'done' && (after === undefined || link.fp > after))
      .map((link) => ({ ...link, cursor: link.fp }))
      .sort((a, b) => (a.fp < b.fp ? -1 : 1))
      .slice(0, limit)
  }

  override async explain(crawl: string, fp: string): Promise<Whereabouts> {
    const where = await super.explain(crawl, fp)
    return where.state === 'done' ? { state: 'done', link: null, crawlState: where.crawlState } : where
  }
}

/** … and whose leases of different hosts come in any order. */
export class LooseMemory extends CountingMemory {
  override readonly can: Capabilities = {
    priorities: 'approximate',
    shared: false,
    durable: false,
    ended: 'counted',
    leasesWithoutPermit: true,
    seen: [],
  }

  override async lease(request: LeaseRequest): Promise<LeaseReply> {
    const reply = await super.lease(request)
    return { ...reply, leases: reply.leases.sort((a, b) => (a.link.host > b.link.host ? -1 : 1)) }
  }
}
