import { z } from 'zod'
import { ShoalError } from '../errors.js'
import type { HostInfo, HostSettings } from '../frontier/frontier.js'
import { nextSlot } from '../observe/explain/next-slot.js'
import { crawlId, hostKey, paging } from './inputs.js'
import { audited } from './parts.js'
import { type Api, OK, type Route, route } from './route.js'
import { hostDone, hostView, pageOf } from './schemas.js'

/** Nobody wants more than a day between requests. */
const DELAY_MOST_MS = 86_400_000
const CONCURRENCY_MOST = 10_000
/** The newest crawls. */
const CRAWLS_SEARCHED = 50

const hostOrder = z
  .strictObject({
    delayMs: z.number().int().min(0).max(DELAY_MOST_MS).nullable().optional(),
    concurrency: z.number().int().min(1).max(CONCURRENCY_MOST).nullable().optional(),
    blocked: z.boolean().optional(),
  })
  .refine((order) => Object.keys(order).length > 0, 'nothing to set: pass delayMs, concurrency or blocked')

export const hostRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/crawls/:crawl/hosts',
    summary: 'Hosts of a crawl: the busiest on one page, or all by name',
    params: z.strictObject({ crawl: crawlId }),
    query: z.strictObject({
      ...paging,
      order: z.enum(['busiest', 'name']).default('busiest'),
      begins: hostKey.optional(),
    }),
    answer: pageOf(hostView),
    async handle(
      { backends, snapshots, cursors, clock },
      { params: { crawl }, query: { limit, after, order, begins } },
    ) {
      const byName = order === 'name' || begins !== undefined
      if (!byName && after !== undefined)
        throw new ShoalError('bad_request', 'after: the busiest hosts are a single page; use order=name for more')
      const list = `hosts ${crawl} ${begins ?? ''}`
      const place = after === undefined ? {} : { after: cursors.unwrap(list, after) }
      const found = await backends.frontier.hosts(crawl, {
        limit,
        ...place,
        ...(byName ? {} : { busiest: true }),
        ...(begins === undefined ? {} : { begins }),
      })
      const of = (await snapshots.note(crawl))?.spec.budget.pagesPerHost ?? null
      const last = found.at(-1)
      const now = clock.now()
      return {
        items: found.map((host) => ({
          ...hostShown(host),
          nextSlot: nextSlot(host, now),
          budget: { used: host.pending + host.inFlight + host.done + host.dead, of },
        })),
        next: !byName || found.length < limit || last === undefined ? null : cursors.wrap(list, last.host),
      }
    },
  }),
  route({
    method: 'PUT',
    path: '/api/hosts/:host',
    summary:
      'Set the pace of a host, block it or unblock it, for all workers and crawls; `known`: whether a crawl has links of it',
    params: z.strictObject({ host: hostKey }),
    body: hostOrder,
    answer: hostDone,
    async handle(api, { params: { host }, body }) {
      const settings: HostSettings = {
        ...(body.delayMs === undefined ? {} : { delayMs: body.delayMs }),
        ...(body.concurrency === undefined ? {} : { concurrency: body.concurrency }),
        ...(body.blocked === undefined ? {} : { blocked: body.blocked }),
      }
      // Before the change: an error here must not hide that it was carried out.
      const known = await isKnown(api, host)
      await audited(api, { action: 'host.set', target: host, details: { ...settings } }, () =>
        api.backends.frontier.setHost(host, settings),
      )
      return { ...OK, known }
    },
  }),
]

/** A pace may be set before a host has links; this lets the caller notice a misspelt name, which looks the same. */
async function isKnown({ backends, snapshots }: Api, host: string): Promise<boolean> {
  for (const { id } of (await snapshots.crawls()).slice(0, CRAWLS_SEARCHED)) {
    const [first] = await backends.frontier.hosts(id, { limit: 1, begins: host })
    if (first?.host === host) return true
  }
  return false
}

/** JSON has no infinity. */
const NO_LIMIT = 1e9

export function hostShown(host: HostInfo): HostInfo {
  return { ...host, concurrency: Math.min(host.concurrency, NO_LIMIT) }
}
