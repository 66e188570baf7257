import type { EngineCall } from '../../sqlite/engine.js'
import type { Fingerprint, HostKey, Link } from '../../url/link.js'
import type {
  AddResult,
  Capabilities,
  CrawlId,
  CrawlInfo,
  CrawlSpec,
  CrawlStats,
  DeadFilter,
  Frontier,
  HostInfo,
  HostPage,
  HostSettings,
  LeaseRef,
  LeaseReply,
  LeaseRequest,
  LinkInfo,
  LinkQuery,
  LinkSteer,
  LinkSteered,
  Permit,
  Release,
  RestoredLink,
  Settlement,
  Whereabouts,
  WorkerId,
  WorkerInfo,
} from '../frontier.js'
import { checkSeen } from '../refusals.js'
import type { SqliteFrontierEngine } from './sqlite-engine.js'
import type { DeadMoved } from './steer-links.js'

const CAN: Capabilities = {
  ...{ priorities: 'exact', shared: true, durable: true, ended: 'kept', seen: [] },
  leasesWithoutPermit: true,
}

/** The embedded frontier: each method is a call of the engine, which runs elsewhere. */
export class SqliteFrontier implements Frontier {
  readonly can = CAN
  readonly #call: EngineCall<SqliteFrontierEngine>
  readonly #close: () => Promise<void>

  constructor(call: EngineCall<SqliteFrontierEngine>, close: () => Promise<void>) {
    this.#call = call
    this.#close = close
  }

  identity(): Promise<string> {
    return this.#call('identity')
  }
  mark(): Promise<number> {
    return this.#call('mark')
  }
  async open(spec: CrawlSpec): Promise<CrawlInfo> {
    checkSeen(spec, this.can)
    return this.#call('open', spec)
  }
  add(crawl: CrawlId, links: readonly Link[]): Promise<AddResult> {
    return this.#call('add', crawl, links)
  }
  restore(crawl: CrawlId, links: readonly RestoredLink[]): Promise<number> {
    return this.#call('restore', crawl, links)
  }
  seeded(crawl: CrawlId): Promise<void> {
    return this.#call('seeded', crawl)
  }
  lease(request: LeaseRequest): Promise<LeaseReply> {
    return this.#call('lease', request)
  }
  permit(lease: LeaseRef, host: HostKey): Promise<Permit> {
    return this.#call('permit', { crawl: lease.crawl, token: lease.token }, host)
  }
  release(releases: readonly Release[]): Promise<void> {
    return this.#call('release', releases)
  }
  extend(worker: WorkerId, tokens: readonly string[]): Promise<string[]> {
    return this.#call('extend', worker, tokens)
  }
  beat(worker: WorkerId, lostAfterMs: number): Promise<boolean> {
    return this.#call('beat', worker, lostAfterMs)
  }
  settle(settlements: readonly Settlement[]): Promise<boolean[]> {
    return this.#call('settle', settlements)
  }
  reap(limit: number): Promise<number> {
    return this.#call('reap', limit)
  }
  forfeit(worker: WorkerId, cause?: string): Promise<number> {
    return this.#call('forfeit', worker, cause)
  }
  setState(crawl: CrawlId, state: 'running' | 'paused' | 'cancelled'): Promise<void> {
    return this.#call('setState', crawl, state)
  }
  remove(crawl: CrawlId): Promise<void> {
    return this.#call('remove', crawl)
  }
  crawls(): Promise<CrawlInfo[]> {
    return this.#call('crawls')
  }
  stats(crawl: CrawlId): Promise<CrawlStats> {
    return this.#call('stats', crawl)
  }
  hosts(crawl: CrawlId, page: HostPage): Promise<HostInfo[]> {
    return this.#call('hosts', crawl, page)
  }
  workers(): Promise<WorkerInfo[]> {
    return this.#call('workers')
  }
  links(query: LinkQuery): Promise<LinkInfo[]> {
    return this.#call('links', query)
  }
  explain(crawl: CrawlId, fp: Fingerprint): Promise<Whereabouts> {
    return this.#call('explain', crawl, fp)
  }
  deadByError(crawl: CrawlId): ReturnType<Frontier['deadByError']> {
    return this.#call('deadByError', crawl)
  }
  replay(crawl: CrawlId, filter: DeadFilter): Promise<number> {
    return allOf((after) => this.#call('replay', crawl, filter, after))
  }
  purge(crawl: CrawlId, filter: DeadFilter): Promise<number> {
    return allOf((after) => this.#call('purge', crawl, filter, after))
  }
  steer(crawl: CrawlId, fp: Fingerprint, host: HostKey, order: LinkSteer): Promise<LinkSteered> {
    return this.#call('steer', crawl, fp, host, order)
  }
  setHost(host: HostKey, settings: HostSettings): Promise<void> {
    return this.#call('setHost', host, settings)
  }
  close(): Promise<void> {
    return this.#close()
  }
}

/** Some at a time: in between others get their turn. */
async function allOf(some: (after: number) => Promise<DeadMoved>): Promise<number> {
  let sum = 0
  for (let after: number | null = 0; after !== null; ) {
    const { moved, next }: DeadMoved = await some(after)
    sum += moved
    after = next
  }
  return sum
}
