import type { Block } from '../../coordinator/eta.js'
import { describeError, type ErrorCode } from '../../errors.js'
import type { HostInfo, LinkInfo, WorkerId, WorkerInfo } from '../../frontier/frontier.js'
import type { HostKey } from '../../url/link.js'
import { some, span } from '../in-words.js'
import { isMissing, lastSeenAt } from './health.js'

/** What a crawl waits for that is neither its own pace nor its own work. */
export interface Waits {
  readonly missing: readonly MissingWorker[]
  readonly unreachable: readonly UnreachableHost[]
}

/** A worker that is missing and holds links that nobody else may visit meanwhile. */
export interface MissingWorker {
  readonly worker: WorkerId
  readonly machine: string | null
  /** When it was last seen. */
  readonly since: number
  readonly links: number
  /** When its links return to the queue; null: when their leases run out. */
  readonly backAt: number | null
  /** Hosts with links waiting on which all slots are its own: nothing is fetched there until then. */
  readonly hosts: readonly HostKey[]
}

/** A host from which nothing can be fetched: its links wait for their next try. */
export interface UnreachableHost {
  readonly host: HostKey
  readonly code: ErrorCode
  /** Of the newest failure. */
  readonly error: string
  readonly links: number
  readonly nextTryAt: number
  /** When the last of these links is given up if nothing changes; null: no worker says how often it retries. */
  readonly givesUpAt: number | null
}

export const NO_WAITS: Waits = { missing: [], unreachable: [] }

/** More hosts than this are not listed. */
const HOSTS_LISTED = 10

export interface WaitsInput {
  readonly spider: string
  readonly hosts: readonly HostInfo[]
  /** As many as were read. */
  readonly delayed: readonly LinkInfo[]
  readonly leased: readonly LinkInfo[]
  readonly workers: readonly WorkerInfo[]
  readonly now: number
}

export function waitsOf(input: WaitsInput): Waits {
  return { missing: missingOf(input), unreachable: unreachableOf(input) }
}

function missingOf({ hosts, leased, workers, now }: WaitsInput): MissingWorker[] {
  return workers.flatMap((worker): MissingWorker[] => {
    if (!isMissing(worker, now)) return []
    const held = leased.filter((link) => link.worker === worker.worker)
    if (held.length === 0) return []
    return [{ ...missingWorker(worker), links: held.length, hosts: blockedBy(held, hosts) }]
  })
}

/** Over all crawls: `links` is everything that it holds. */
export function missingWorkers(workers: readonly WorkerInfo[], now: number): MissingWorker[] {
  return workers.filter((worker) => worker.inFlight > 0 && isMissing(worker, now)).map(missingWorker)
}

/** What is said of a worker that is missing. */
export function missingWorker(worker: WorkerInfo): MissingWorker {
  const { about, inFlight, lostAt } = worker
  return {
    ...{ worker: worker.worker, machine: about?.machine ?? null, since: lastSeenAt(worker), links: inFlight },
    backAt: lostAt,
    hosts: [],
  }
}

function blockedBy(held: readonly LinkInfo[], hosts: readonly HostInfo[]): HostKey[] {
  return hosts
    .filter(({ host, pending, concurrency }) => {
      return pending > 0 && held.filter((link) => link.host === host).length >= concurrency
    })
    .slice(0, HOSTS_LISTED)
    .map(({ host }) => host)
}

function unreachableOf({ spider, hosts, delayed, workers, now }: WaitsInput): UnreachableHost[] {
  const retries = workers.flatMap(({ about }) =>
    about?.retries?.[spider] === undefined ? [] : [about.retries[spider]],
  )[0]
  const found = hosts.flatMap(({ host, pending }): UnreachableHost[] => {
    const failing = delayed.filter((link) => link.host === host && isUnreachable(link))
    const newest = failing.flatMap(({ failures }) => failures.slice(-1)).sort((a, b) => b.at - a.at)[0]
    if (newest === undefined) return []
    // A site that cannot be asked for its rules gets no request at all. Otherwise some pages may fail while others are fetched.
    if (newest.code !== 'robots_unreachable' && failing.length < pending) return []
    const due = failing.map(({ dueAt }) => dueAt ?? now)
    const left = failing.map(({ dueAt, attempts }) => (dueAt ?? now) + sum((retries ?? []).slice(attempts)))
    return [
      {
        ...{ host, code: newest.code, error: newest.message, links: pending },
        nextTryAt: Math.max(now, Math.min(...due)),
        givesUpAt: retries !== undefined ? Math.max(now, ...left) : null,
      },
    ]
  })
  return found.slice(0, HOSTS_LISTED)
}

function isUnreachable({ failures }: LinkInfo): boolean {
  const code = failures.at(-1)?.code
  if (code === undefined) return false
  return code === 'robots_unreachable' || code === 'dns_error' || describeError(code).failedAt === 'connection'
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

/** The hosts where nothing happens until then, for the estimate of the end. */
export function blocksOf({ missing, unreachable }: Waits): ReadonlyMap<HostKey, Block> {
  const blocks = new Map<HostKey, Block>()
  for (const { host, givesUpAt } of unreachable) blocks.set(host, { reason: 'unreachable', until: givesUpAt })
  for (const { hosts, backAt } of missing)
    for (const host of hosts) blocks.set(host, { reason: 'missing', until: backAt })
  return blocks
}

export function missingText({ worker, machine, since, links, backAt }: MissingWorker, now: number): string {
  const who = `worker ${worker}${machine === null ? '' : ` on ${machine}`}`
  const expiry = links === 1 ? 'when its lease expires' : 'when their leases expire'
  const when = backAt === null ? expiry : backAt <= now ? 'now' : `in ${span(backAt - now)}`
  const what = links === 1 ? 'its link returns' : `its ${links} links return`
  return `${who} is missing, last seen ${span(now - since)} ago; ${what} to the queue ${when}`
}

export function unreachableText({ host, error, links, nextTryAt, givesUpAt }: UnreachableHost, now: number): string {
  const next = nextTryAt <= now ? 'next try now' : `next try in ${span(nextTryAt - now)}`
  const end = givesUpAt === null ? '' : `, given up in about ${span(Math.max(0, givesUpAt - now))}`
  return `${host} cannot be reached: ${error}; ${some(links, 'link')} left, ${next}${end}`
}
