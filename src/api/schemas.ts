import { z } from 'zod'
import { ALERT_RULES } from '../observe/alerts/alert.js'
import { SPANS } from '../observe/series/series.js'
import { SLOT_LIMITS } from '../observe/vitals/vitals.js'
import { FILTER_REASONS } from '../url/filter-reasons.js'
import type { Json } from '../url/link.js'
import type * as Api from './api-types.js'
import { errorCode } from './inputs.js'

/**
 * The responses as schemas: api-types.ts in a form that can be checked and documented. They are strict: an unexpected field
 * (a header of a link, an address) fails the test that checks every response against them.
 */

const json = z.custom<Json>()
const count = z.number()
const moment = z.number()
const text = z.string()

export function pageOf<Item>(item: z.ZodType<Item>): z.ZodType<Api.Page<Item>> {
  return z.strictObject({ items: z.array(item), next: text.nullable() })
}

export const apiError: z.ZodType<Api.ApiError> = z.strictObject({
  error: z.strictObject({ code: text, message: text, hint: text }),
})

const linkCounts = { queued: count, delayed: count, leased: count, done: count, dead: count, skipped: count }

const filteredShape = {
  reason: z.enum(FILTER_REASONS),
  count,
  example: z.strictObject({ url: text, became: text.nullable() }).nullable(),
}

const stats = z.strictObject({
  id: text,
  spider: text,
  state: z.enum(['running', 'paused', 'cancelled', 'finished']),
  endedBy: z.enum(['budget_bytes', 'budget_time']).nullable(),
  spiderHash: text,
  spiderChanges: count,
  createdAt: moment,
  startedAt: moment.nullable(),
  finishedAt: moment.nullable(),
  seeding: z.boolean(),
  args: z.record(text, json).exactOptional(),
  total: count,
  ...linkCounts,
  failed: count,
  retried: count,
  throttled: count,
  reclaimed: count,
  stale: count,
  refused: count,
  filtered: z.array(z.strictObject(filteredShape)),
  counts: z.array(z.strictObject({ name: text, count })),
  bytes: count,
  rate: z.number(),
})

const estimate = z.strictObject({
  etaSeconds: z.number().nullable(),
  decidedBy: z
    .union([
      z.strictObject({
        kind: z.literal('host'),
        host: text,
        reason: z.enum(['delay', 'rate', 'latency', 'blocked', 'closed', 'missing', 'unreachable']),
      }),
      z.strictObject({ kind: z.enum(['workers', 'cpu', 'retries']) }),
    ])
    .nullable(),
  plainSeconds: z.number().nullable(),
})

const advice = z.strictObject({
  stage: z.enum(['host_pace', 'hosts', 'proxies', 'queue', 'store', 'handler', 'cpu', 'memory', 'workers', 'none']),
  sentence: text,
  next: text,
  moreWorkers: z.number(),
  host: text.nullable(),
})

const alertShape = {
  rule: z.enum(ALERT_RULES),
  severity: z.enum(['warn', 'critical']),
  episode: text,
  about: text,
  crawl: text.nullable(),
  spider: text.nullable(),
  message: text,
  next: text,
  fields: z.record(text, json),
  since: moment,
}
const alert = z.strictObject(alertShape)

export const alertNotes: z.ZodType<Api.AlertNotes> = z.strictObject({
  active: z.array(alert),
  ended: z.array(z.strictObject({ ...alertShape, endedAt: moment })),
})

const trouble = z.strictObject({ code: text, message: text, hint: text })
const cardShape = {
  stats,
  estimate,
  advice: advice.nullable(),
  spark: z.array(z.number()),
  trouble: trouble.nullable(),
}
export const crawlCard: z.ZodType<Api.CrawlCard> = z.strictObject(cardShape)

export const overview: z.ZodType<Api.Overview> = z.strictObject({
  now: moment,
  version: text,
  queue: text,
  store: text,
  health: z.strictObject({
    ok: z.boolean(),
    stalled: z.array(z.strictObject({ crawl: text, forMs: z.number() })),
  }),
  crawls: z.array(crawlCard),
  workers: z.strictObject({ alive: count, missing: count, busy: count, slots: count }),
  alerts: z.array(alert),
  spiders: z.array(text),
})

const sample = z.strictObject({
  at: moment,
  pagesPerSecond: z.number(),
  errorsPerSecond: z.number(),
  bytesPerSecond: z.number(),
  latencyMs: z.strictObject({ p50: z.number(), p90: z.number(), p99: z.number() }).nullable(),
  ...linkCounts,
  workers: count,
})

export const span = z.enum(Object.keys(SPANS) as [Api.SeriesView['span'], ...Api.SeriesView['span'][]])
export const seriesView: z.ZodType<Api.SeriesView> = z.strictObject({
  span,
  everyMs: z.number(),
  samples: z.array(sample),
})

export const crawlView: z.ZodType<Api.CrawlView> = z.strictObject({
  ...cardShape,
  now: moment,
  latest: sample.nullable(),
  kinds: z.array(
    z.strictObject({
      kind: text,
      written: count,
      unchanged: count,
      rejected: count,
      fields: z.array(z.strictObject({ field: text, filled: z.number() })),
    }),
  ),
  limits: z.strictObject({ delayMs: z.number(), concurrency: z.number() }).nullable(),
  budget: z
    .strictObject({
      pages: count.nullable(),
      pagesPerHost: count.nullable(),
      bytes: count.nullable(),
      ms: z.number().nullable(),
    })
    .nullable(),
  filtered: z.array(
    z.strictObject({
      ...filteredShape,
      effect: z.enum(['changed', 'kept', 'rejected']),
      words: text,
      setting: text.nullable(),
    }),
  ),
  alerts: z.array(alert),
  holders: z.strictObject({ holders: count, otherVersion: z.array(text) }),
  statuses: z.record(text, count),
  errors: z.record(text, count),
})

const hostSettings = z.strictObject({
  delayMs: z.number().nullable().exactOptional(),
  concurrency: z.number().nullable().exactOptional(),
  floorMs: z.number().nullable().exactOptional(),
  blocked: z.boolean().nullable().exactOptional(),
})

const hostShape = {
  host: text,
  pending: count,
  inFlight: count,
  done: count,
  failed: count,
  dead: count,
  delayMs: z.number(),
  slowedFromMs: z.number().nullable(),
  concurrency: z.number(),
  ratePerSecond: z.number().nullable(),
  nextAt: moment,
  blockedUntil: moment.nullable(),
  throttles: count,
  latencyMs: z.number().nullable(),
  set: hostSettings.nullable(),
}
export const hostView: z.ZodType<Api.HostView> = z.strictObject({
  ...hostShape,
  nextSlot: text,
  budget: z.strictObject({ used: count, of: count.nullable() }),
})

const linkState = z.enum(['queued', 'delayed', 'leased', 'done', 'dead', 'skipped'])
const linkShape = {
  cursor: text,
  fp: text,
  url: text,
  host: text,
  route: text,
  state: linkState,
  depth: count,
  priority: z.number(),
  attempts: count,
  throttles: count,
  reclaims: count,
  addedAt: moment,
  dueAt: moment.nullable(),
  worker: text.nullable(),
  leasedAt: moment.nullable(),
  endedAt: moment.nullable(),
  failures: z.array(z.strictObject({ code: errorCode, message: text, at: moment })),
}
const link = z.strictObject(linkShape)
export const linkView: z.ZodType<Api.LinkView> = z.strictObject({
  ...linkShape,
  ageMs: z.number().nullable(),
  proxy: text.nullable(),
})
export { linkState }

export const deadView: z.ZodType<Api.DeadView> = z.strictObject({
  groups: z.array(
    z.strictObject({
      ...{ code: text, count, sample: text, hint: text },
      examples: z.array(z.strictObject({ message: text, url: text })),
    }),
  ),
})

export const history: z.ZodType<Api.UrlHistory> = z.strictObject({
  asked: text,
  url: text,
  fp: text,
  crawl: text,
  spider: text,
  crawlState: z.enum(['running', 'paused', 'cancelled', 'finished']),
  state: z.union([linkState, z.literal('unknown')]),
  why: z.array(text),
  admitted: z.strictObject({ by: text, route: text, depth: count, priority: z.number() }).nullable(),
  position: count.nullable(),
  host: z.strictObject(hostShape).nullable(),
  nextSlot: text.nullable(),
  link: link.nullable(),
  attempts: z.array(
    z.strictObject({
      at: moment,
      attempt: count,
      worker: text,
      status: count,
      ms: z.number(),
      bytes: count,
      proxy: text.nullable(),
      error: z.strictObject({ code: text, message: text }).nullable(),
      page: z.boolean(),
    }),
  ),
  records: z.array(z.strictObject({ kind: text, key: text, changedAt: moment, data: json })),
  can: z.array(z.enum(['replay', 'promote', 'retry', 'remove'])),
})

export const workersView: z.ZodType<Api.WorkersView> = z.strictObject({
  now: moment,
  workers: z.array(
    z.strictObject({
      worker: text,
      inFlight: count,
      done: count,
      failed: count,
      startedAt: moment,
      seenAt: moment,
      progressAt: moment.nullable(),
      beatAt: moment.nullable(),
      lostAt: moment.nullable(),
      about: z
        .strictObject({
          machine: text,
          pid: z.number(),
          version: text,
          spiders: z.record(text, text).exactOptional(),
          concurrency: z.number().exactOptional(),
          cores: z.number().exactOptional(),
          retries: z.record(text, z.array(z.number()).readonly()).exactOptional(),
          pools: z.array(text).exactOptional(),
        })
        .nullable(),
      state: z.enum(['working', 'idle', 'draining', 'missing']),
      rate: z.number(),
      rssBytes: z.number().nullable(),
      loopBusy: z.number().nullable(),
      loopLagMs: z.number().nullable(),
      slots: z.number().nullable(),
      slotsMost: z.number().nullable(),
      slotsBecause: z.enum(SLOT_LIMITS).nullable(),
      busy: z.number().nullable(),
      draining: z.boolean(),
    }),
  ),
})

export const proxiesView: z.ZodType<Api.ProxiesView> = z.strictObject({
  pools: z.array(
    z.strictObject({ pool: text, proxies: count, resting: count, good: count, bad: count, more: z.boolean() }),
  ),
})

export const proxyView: z.ZodType<Api.ProxyView> = z.strictObject({
  proxy: text,
  good: count,
  neutral: count,
  banned: count,
  broken: count,
  inFlight: count,
  p50Ms: z.number().nullable(),
  p90Ms: z.number().nullable(),
  restsUntil: moment.nullable(),
  cost: z.number(),
  sites: z.array(z.strictObject({ site: text, good: count, bad: count, restsUntil: moment.nullable() })),
})

export const recordsPage: z.ZodType<Api.RecordsPage> = z.strictObject({
  items: z.array(
    z.strictObject({ spider: text, site: text, kind: text, key: text, url: text, changedAt: moment, data: json }),
  ),
  next: text.nullable(),
  searched: count,
  kinds: z.array(z.strictObject({ spider: text, kind: text, count })),
})

export const auditEntry: z.ZodType<Api.AuditEntry> = z.strictObject({
  at: moment,
  by: text,
  action: text,
  target: text,
  details: json,
  result: text,
})

export const started: z.ZodType<Api.Started> = z.strictObject({
  crawl: text,
  resumed: z.boolean(),
  setAside: text.nullable(),
})
export const done: z.ZodType<Api.Done> = z.strictObject({ ok: z.literal(true) })
export const hostDone: z.ZodType<Api.HostDone> = z.strictObject({ ok: z.literal(true), known: z.boolean() })
export const counted: z.ZodType<Api.Counted> = z.strictObject({ count })
