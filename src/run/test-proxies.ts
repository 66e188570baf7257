import type { Clock, Random } from '../clock.js'
import { warnOf, withClosers } from '../closers.js'
import { asShoalError, type ErrorCode, ShoalError } from '../errors.js'
import type { Fetcher, FetchLimits, StopSignal } from '../fetch/fetcher.js'
import { judgeUrl } from '../fetch/guard.js'
import { createHttpFetcher } from '../fetch/http/http-fetcher.js'
import { silentLog } from '../log.js'
import { retryAfterIn } from '../politeness/retry-after.js'
import type { Pool } from '../proxy/pool.js'
import type { PoolProxy } from '../proxy/proxy.js'
import {
  createProxyAllocator,
  type ProxyAllocator,
  type ProxyGrant,
  type ProxyOutcome,
} from '../proxy/proxy-allocator.js'
import type { ProxyLedger } from '../proxy/proxy-ledger.js'
import { verdictOfAnswer, verdictOfError } from '../proxy/verdict.js'
import { hostKey, siteOf } from '../url/host.js'
import { parseUrl } from '../url/parse-url.js'
import { version } from '../version.js'

/** One request through one proxy. `resting`: no request was sent. */
export interface TestedRequest {
  readonly proxy: PoolProxy
  readonly outcome: 'good' | 'neutral' | 'banned' | 'broken' | 'resting'
  readonly status: number | null
  readonly error: ErrorCode | null
  readonly ms: number | null
  readonly bytes: number
  readonly cost: number
  /** For a proxy that rests: how much longer. */
  readonly restsMs: number | null
}

export interface ProxyTest {
  readonly pool: Pool
  readonly url: string
  /** Requests through each proxy, one after another. */
  readonly count: number
  readonly concurrency: number
  readonly allowPrivate: readonly string[]
  readonly stop: StopSignal
  onDone(request: TestedRequest): void
}

export interface ProxyTestParts {
  readonly ledger: ProxyLedger
  readonly clock: Clock
  readonly random: Random
  /** Keeps the names of its requests apart from those of other processes. */
  readonly name: string
}

const LIMITS: FetchLimits = {
  totalMs: 30_000,
  connectMs: 10_000,
  headersMs: 20_000,
  idleMs: 15_000,
  maxHeaderBytes: 16_384,
  maxBodyBytes: 10 * 1024 * 1024,
}
const HOLD_MS = 60_000
/** How often to wait for a proxy that others are using at the moment. */
const MOST_WAITS = 20
const LONGEST_WAIT_MS = 1_000

/** Fetches a page through every proxy of a pool; the results count for the whole fleet, as if a crawl had made the requests. */
export async function testProxies(
  test: ProxyTest,
  { ledger, clock, random, name }: ProxyTestParts,
): Promise<TestedRequest[]> {
  const target = parseUrl(test.url)
  if (target === null) throw new ShoalError('bad_url', `${test.url} is not a URL`)
  const refused = judgeUrl(target, test.allowPrivate)
  if (refused !== null)
    throw new ShoalError(refused.code, refused.message, {
      hint: 'If the site is yours, pass --allow-private host:port.',
    })
  const done: TestedRequest[] = []
  const waiting = [...test.pool.proxies]
  const work = async (parts: TestParts) => {
    for (let proxy = waiting.shift(); proxy !== undefined; proxy = waiting.shift()) {
      for (let times = 0; times < test.count && !test.stop.aborted; times++) {
        const tested = await testOnce(test, target, proxy, parts)
        done.push(tested)
        test.onDone(tested)
        if (tested.outcome === 'resting') break
      }
    }
  }
  await withClosers(warnOf(silentLog), async (closers) => {
    const fetcher = createHttpFetcher({ clock, userAgent: `Shoal/${version} (proxy test)` })
    closers.add(() => fetcher.close())
    const allocator = createProxyAllocator({ ledger, clock, random, worker: name })
    closers.add(() => allocator.close())
    const atOnce = Math.min(test.concurrency, waiting.length)
    await Promise.all(Array.from({ length: atOnce }, () => work({ allocator, fetcher, clock })))
  })
  return done
}

interface TestParts {
  readonly allocator: ProxyAllocator
  readonly fetcher: Fetcher
  readonly clock: Clock
}

async function testOnce(test: ProxyTest, target: URL, proxy: PoolProxy, parts: TestParts): Promise<TestedRequest> {
  const { allocator, clock } = parts
  const host = hostKey(target)
  const need = {
    ...{ pool: test.pool, choose: 'rotate' as const, country: null, host, site: siteOf(host) },
    ...{ limits: { delayMs: 0, concurrency: 1 }, holdMs: HOLD_MS, stay: proxy.id },
  }
  for (let waits = 0; ; waits++) {
    const got = await allocator.acquire(need)
    if (got.ok) return fetchThrough(test, target, got.grant, parts)
    if (got.why === 'resting' || waits >= MOST_WAITS || test.stop.aborted)
      return { proxy, outcome: 'resting', status: null, error: null, ms: null, bytes: 0, cost: 0, restsMs: got.waitMs }
    await clock.sleep(Math.min(got.waitMs, LONGEST_WAIT_MS))
  }
}

async function fetchThrough(
  test: ProxyTest,
  target: URL,
  grant: ProxyGrant,
  { allocator, fetcher, clock }: TestParts,
): Promise<TestedRequest> {
  const { proxy } = grant
  const { via } = proxy
  const begunAt = clock.mono()
  const end = (outcome: Omit<ProxyOutcome, 'elapsedMs'>, status: number | null, error: ErrorCode | null) => {
    const ms = clock.mono() - begunAt
    const { verdict, bytes } = outcome
    allocator.report(grant, { verdict, bytes, elapsedMs: ms })
    const cost = proxy.cost.perRequest + (proxy.cost.perGb * bytes) / 1e9
    return { proxy, outcome: verdict.kind, status, error, ms, bytes, cost, restsMs: null }
  }
  try {
    const response = await fetcher.fetch(
      {
        url: via.by === 'wrap' ? via.wrap(target.href) : target.href,
        ...(via.by === 'proxy' ? { proxy: via.proxy } : {}),
        limits: LIMITS,
        allowPrivate: test.allowPrivate,
      },
      test.stop,
    )
    return end(
      {
        verdict: verdictOfAnswer({ ...response, retryAfterMs: retryAfterIn(response.headers) }, null),
        bytes: response.wireBytes,
      },
      response.status,
      null,
    )
  } catch (error) {
    // Only the code of the error is reported: a message may contain the URL of a service, including its key.
    const failure = asShoalError(error)
    return end({ verdict: verdictOfError(failure), bytes: 0 }, null, failure.code)
  }
}
