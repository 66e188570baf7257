import type { ShoalError } from '../errors.js'
import type { FetchResponse } from '../fetch/fetcher.js'
import type { Pool } from '../proxy/pool.js'
import type { ProxyAllocator } from '../proxy/proxy-allocator.js'
import type { ProxyVerdict } from '../proxy/proxy-ledger.js'
import type { ProxyNeed } from '../spider/spider.js'

/** How the requests of a spider go out. */
export interface SpiderProxies {
  readonly allocator: ProxyAllocator
  /** Null: this worker does not have the pool. */
  poolOf(need: ProxyNeed, site: string): Pool | null
  verdictOf(response: FetchResponse): ProxyVerdict
  verdictOfError(error: ShoalError): ProxyVerdict
}
