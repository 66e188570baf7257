import { checkPoliteness, type SeenAccess } from '../support/access-log.js'
import { compareEpochs, type Deliveries, type Delivery, deliveriesOf } from './deliveries.js'
import type { HistoryEvent } from './history.js'
import { RETRY_AFTER_S, type Site } from './site.js'

/**
 * The judge of a chaos run. It believes four witnesses: the site's own log, the histories of the processes, a full scan of the queue
 * after the drain, and the rows of the record store; and it knows from the site itself what must have been found.
 */
export interface Evidence {
  readonly site: Site
  readonly accesses: readonly SeenAccess[]
  /** Null when the workers were the product's own processes, which keep no history. */
  readonly history: readonly HistoryEvent[] | null
  readonly queue: QueueScan
  readonly records: readonly StoredRow[]
  readonly rules: CheckRules
  /** What was injected, by name. */
  readonly injected: Readonly<Record<string, number>>
}

export interface QueueScan {
  readonly state: string
  readonly counters: Readonly<Record<LinkStateName | 'total', number>>
  /** Of a scan, link by link; done only where the queue keeps what is done. */
  readonly scanned: Readonly<Partial<Record<LinkStateName, number>>>
  readonly dead: readonly string[]
  readonly skipped: readonly string[]
  /** URLs of the site that the queue, asked one by one, says it has not done. */
  readonly notDone: readonly string[]
}

type LinkStateName = 'queued' | 'delayed' | 'leased' | 'done' | 'dead' | 'skipped'

export interface StoredRow {
  readonly key: string
  readonly epoch: string
}

export interface CheckRules {
  readonly delayMs: number
  readonly concurrency: number
  readonly retries: number
  /** Leases of one link that may run out before it is dead. */
  readonly maxReclaims: number
  /** From a kill to the link leased again; null where other faults stand in the way. */
  readonly reclaimWithinMs: number | null
  /** After so long a frozen worker is lost. */
  readonly lostAfterMs: number
  /** From a heal of the queue to the first settle. */
  readonly resumeWithinMs: number | null
  /** A queue that lost data may visit pages again: what was settled before counts for nothing. */
  readonly queueMayGoBack: boolean
  /** The site was unreachable for a worker: fetches failed that never came to the site's log, and used attempts. */
  readonly fetchesMayFail?: boolean
}

export type Invariant = `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12}`

export interface Violation {
  readonly invariant: Invariant
  readonly detail: string
}

export interface Verdict {
  readonly verdict: 'passed' | 'violated' | 'invalid'
  /** Why the run proves nothing. */
  readonly invalid: readonly string[]
  readonly violations: readonly Violation[]
  readonly figures: Figures
}

interface Figures {
  readonly pages: number
  readonly requests: number
  readonly lost: number
  readonly overlaps: number
  readonly staleAccepted: number
  readonly staleRefused: number
  readonly gapViolations: number
  readonly minGapMs: number
  readonly maxConcurrent: number
  readonly extraFetches: number
  readonly extraPer100k: number
  readonly unsettledLeases: number
  readonly unknownReplies: number
  /** From each kill to each of the dead worker's links leased again. */
  readonly releasedAgainMs: { readonly count: number; readonly p50: number; readonly max: number } | null
  /** From the last heal to the first settle after it. */
  readonly resumeMs: number | null
}

export function check(evidence: Evidence): Verdict {
  const found = deliveriesOf(evidence.history ?? [], evidence.rules.lostAfterMs)
  const politeness = checkSiteLog(evidence)
  const exclusive = checkExclusive(found)
  const fence = checkFence(found)
  const again = reclaimTimes(found)
  const resumes = resumeTimes(evidence.history ?? [])
  const fetches = countFetches(evidence)
  // What must hold at every moment, and what must hold in the end.
  const drained = evidence.queue.state === 'finished'
  const loss = drained ? checkLoss(evidence) : []
  const violations = [
    ...loss,
    ...checkPhantoms(evidence, found),
    ...checkRows(evidence, found),
    ...exclusive,
    ...(evidence.rules.queueMayGoBack ? [] : fence),
    ...checkAttempts(evidence, found),
    ...(drained ? checkGivenUp(evidence) : []),
    ...checkDuplicates(evidence, found, fetches.extra),
    ...politeness.violations,
    ...(drained ? checkConservation(evidence) : []),
    ...checkRecovery(evidence, again, resumes),
  ]
  const invalid = whyInvalid(evidence, found)
  return {
    verdict: violations.length > 0 ? 'violated' : invalid.length > 0 ? 'invalid' : 'passed',
    invalid,
    violations,
    figures: {
      pages: evidence.site.options.pages,
      requests: evidence.accesses.length,
      lost: loss.length,
      overlaps: exclusive.length,
      staleAccepted: fence.length,
      staleRefused: found.staleRefused,
      gapViolations: politeness.violations.length,
      minGapMs: politeness.minGapMs,
      maxConcurrent: politeness.maxConcurrent,
      extraFetches: fetches.extra,
      extraPer100k: Math.round((fetches.extra * 100_000) / evidence.site.options.pages),
      unsettledLeases: found.all.filter((delivery) => delivery.accepted === null).length,
      unknownReplies: found.unknownReplies,
      releasedAgainMs: spread(again.map(({ ms }) => ms)),
      resumeMs: resumes.length === 0 ? null : Math.max(...resumes),
    },
  }
}

/** A run that injected nothing, or that was not watched to its end, proves nothing. */
function whyInvalid({ injected, queue, history, site }: Evidence, found: Deliveries): string[] {
  const reasons: string[] = []
  const names = Object.keys(injected)
  if (names.length === 0 || names.some((name) => (injected[name] ?? 0) === 0)) {
    const missing = names.filter((name) => (injected[name] ?? 0) === 0)
    reasons.push(`no fault was injected${missing.length > 0 ? `: ${missing.join(', ')}` : ''}`)
  }
  if (queue.state !== 'finished') reasons.push(`the drain was not reached: the crawl is ${queue.state}`)
  if (history !== null && found.byId.size < site.options.pages / 2)
    reasons.push(`the history knows ${found.byId.size} links of a site of ${site.options.pages} pages`)
  return reasons
}

/** I1: every page of the site has its record or its dead letter, by the site's own account of itself. */
function checkLoss({ site, records, queue }: Evidence): Violation[] {
  const keys = new Map<string, number>()
  for (const { key } of records) keys.set(key, (keys.get(key) ?? 0) + 1)
  const dead = countOf(queue.dead)
  const skipped = countOf(queue.skipped)
  const notDone = new Set(queue.notDone)
  const violations: Violation[] = []
  const lost = (detail: string) => violations.push({ invariant: 'I1', detail })
  for (const [url, { end, page, optional, kind }] of site.urls) {
    const rows = keys.get(String(page)) ?? 0
    // A page that moved may have been visited by both of its URLs, which are of two sites.
    const most = kind === 'moved' || optional ? 2 : 1
    const letters = dead.get(url) ?? 0
    if (end === 'record' && (rows < 1 || rows > most)) lost(`${url}: ${rows} records of it`)
    if (end === 'record' && letters > 0) lost(`${url}: dead, though the site answers it`)
    if (end === 'record' && !optional && notDone.has(url)) lost(`${url}: has a record, but the queue has not done it`)
    if (end === 'dead' && letters !== 1) lost(`${url}: ${letters} dead letters`)
    if (end === 'skipped' && (skipped.get(url) ?? 0) !== 1) lost(`${url}: forbidden, and not among the skipped ones`)
  }
  return violations
}

/** I2: nothing is visited, recorded or kept that is not of the site. */
function checkPhantoms({ site, accesses, queue, records }: Evidence, found: Deliveries): Violation[] {
  const violations: Violation[] = []
  const phantom = (detail: string) => violations.push({ invariant: 'I2', detail })
  for (const { host, path } of accesses) {
    if (path !== '/robots.txt' && !site.urls.has(urlOf(site, host, path))) phantom(`${host}${path} was asked for`)
  }
  for (const id of found.byId.keys()) if (!site.urls.has(id)) phantom(`${id} was leased`)
  for (const url of [...queue.dead, ...queue.skipped]) if (!site.urls.has(url)) phantom(`${url} is in the queue`)
  const pages = site.options.pages
  for (const { key } of records) if (!(Number(key) >= 0 && Number(key) < pages)) phantom(`record ${key}`)
  return violations
}

/** I3: a page that was settled as done has a row of the same lease or a newer one, and it was committed before the settle was sent. */
function checkRows({ site, records }: Evidence, found: Deliveries): Violation[] {
  const rows = new Map<string, string>()
  for (const { key, epoch } of records) {
    const other = rows.get(key)
    if (other === undefined || compareEpochs(epoch, other) > 0) rows.set(key, epoch)
  }
  const violations: Violation[] = []
  for (const delivery of found.all) {
    const expected = site.urls.get(delivery.id)
    if (delivery.accepted !== 'done' || expected?.end !== 'record' || expected.kind === 'moved') continue
    const row = rows.get(String(expected.page))
    if (row === undefined || compareEpochs(row, delivery.epoch) < 0)
      violations.push({
        invariant: 'I3',
        detail: `${delivery.id}: settled at ${delivery.epoch}, its row is ${row ?? 'missing'}`,
      })
    if (delivery.committedAt === null || delivery.committedAt > (delivery.settleSentAt ?? 0))
      violations.push({ invariant: 'I3', detail: `${delivery.id}: settled before its record was committed` })
  }
  return violations
}

/** I4: two windows in which a worker surely held the link do not overlap. */
function checkExclusive({ byId }: Deliveries): Violation[] {
  const violations: Violation[] = []
  for (const [id, deliveries] of byId) {
    for (const [index, next] of deliveries.entries()) {
      const before = deliveries[index - 1]
      if (before === undefined || genOf(before) !== genOf(next)) continue
      if (next.grantedAt < before.sureUntil && next.grantedAt > before.grantedAt) {
        const early = (before.sureUntil - next.grantedAt).toFixed(0)
        violations.push({
          invariant: 'I4',
          detail: `${id}: leased to ${next.proc} ${early} ms before the lease of ${before.proc} could have run out`,
        })
      }
    }
  }
  return violations
}

/** I5 and I6: what has ended is not leased again; a settle that was first sent after the link had a new holder is refused. */
function checkFence({ byId }: Deliveries): Violation[] {
  const violations: Violation[] = []
  for (const [id, deliveries] of byId) {
    let ended: Delivery | null = null
    for (const [index, delivery] of deliveries.entries()) {
      if (ended !== null && genOf(ended) === genOf(delivery))
        violations.push({
          invariant: 'I5',
          detail: `${id}: ended at ${ended.epoch}, leased again at ${delivery.epoch}`,
        })
      const next = deliveries[index + 1]
      if (delivery.accepted === null) continue
      if (delivery.accepted !== 'retry' && delivery.accepted !== 'wait' && delivery.accepted !== 'back')
        ended = delivery
      if (next !== undefined && (delivery.settleSentAt ?? 0) > next.grantedAt)
        violations.push({
          invariant: 'I6',
          detail: `${id}: a settle of ${delivery.proc} at ${delivery.epoch} was accepted though ${next.proc} held ${next.epoch}`,
        })
    }
  }
  return violations
}

/** I7: attempts are not burned by anything but the page, and links do not go round for ever. */
function checkAttempts({ site, rules }: Evidence, { byId }: Deliveries): Violation[] {
  const violations = rules.fetchesMayFail ? [] : burnedAttempts(site, rules.retries, byId)
  for (const [id, deliveries] of byId) {
    const unsettled = deliveries.filter(({ accepted }) => accepted === null).length
    if (unsettled > rules.maxReclaims)
      violations.push({ invariant: 'I7', detail: `${id}: ${unsettled} leases without an end` })
  }
  return violations
}

export function burnedAttempts(site: Site, retries: number, byId: Deliveries['byId']): Violation[] {
  const violations: Violation[] = []
  for (const [id, deliveries] of byId) {
    const most = Math.max(...deliveries.map(({ attempt }) => attempt))
    const kind = site.urls.get(id)?.kind ?? 'plain'
    const allowed = kind === 'always-fails' ? retries + 1 : kind === 'fails-once' ? 2 : 1
    if (most > allowed) violations.push({ invariant: 'I7', detail: `${id}: attempt ${most} of a page that is ${kind}` })
  }
  return violations
}

/** I7, the other half: a page that fails gets all of its attempts. */
function checkGivenUp({ site, accesses }: Evidence): Violation[] {
  const violations: Violation[] = []
  const asked = new Map<string, number>()
  for (const { host, path } of accesses) {
    const url = urlOf(site, host, path)
    asked.set(url, (asked.get(url) ?? 0) + 1)
  }
  for (const [url, { kind, fetches }] of site.urls) {
    if (kind === 'always-fails' && (asked.get(url) ?? 0) < fetches)
      violations.push({
        invariant: 'I7',
        detail: `${url}: given up after ${asked.get(url) ?? 0} of ${fetches} fetches`,
      })
  }
  return violations
}

/** I8: each fetch too many is explained by a lease that was taken from its worker, and each of those by something done to that worker. */
function checkDuplicates({ history, rules }: Evidence, found: Deliveries, extra: number): Violation[] {
  if (history === null || rules.queueMayGoBack) return []
  const violations: Violation[] = []
  const unsettled = found.all.filter(({ accepted }) => accepted === null)
  // A page that moved is two requests.
  const explained = unsettled.length * 2
  if (extra > explained && !rules.fetchesMayFail)
    violations.push({
      invariant: 'I8',
      detail: `${extra} fetches too many, ${unsettled.length} leases were not settled`,
    })
  for (const { id, proc, excused } of unsettled) {
    if (!excused)
      violations.push({ invariant: 'I8', detail: `${id}: ${proc} lost its lease though nothing happened to it` })
  }
  return violations
}

interface SiteLog {
  readonly violations: Violation[]
  readonly minGapMs: number
  readonly maxConcurrent: number
}

/** I9: politeness as the site saw it, every request counted. */
function checkSiteLog({ accesses, rules }: Evidence): SiteLog {
  const { delayMs, concurrency } = rules
  const seen = checkPoliteness(accesses, { delayMs, concurrency, retryAfterMs: RETRY_AFTER_S * 1000 })
  const violations = seen.violations.map((detail): Violation => ({ invariant: 'I9', detail }))
  for (const { host, path } of accesses) {
    if (path.startsWith('/x/'))
      violations.push({ invariant: 'I9', detail: `${host}${path} is forbidden by robots.txt` })
  }
  return { violations, minGapMs: seen.minGapMs, maxConcurrent: seen.maxConcurrent }
}

/** I10: counters equal a scan, and nothing is left or too many. */
function checkConservation({ queue, site }: Evidence): Violation[] {
  const { total, ...states } = queue.counters
  const violations: Violation[] = []
  const wrong = (detail: string) => violations.push({ invariant: 'I10', detail })
  const sum = Object.values(states).reduce((all, count) => all + count, 0)
  if (sum !== total) wrong(`the counters sum up to ${sum}, the total says ${total}`)
  for (const [state, count] of Object.entries(queue.scanned)) {
    const counter = states[state as LinkStateName]
    if (counter !== count) wrong(`${state}: the counter says ${counter}, a scan ${count}`)
  }
  if (states.queued + states.delayed + states.leased > 0)
    wrong(`finished with ${states.queued} queued, ${states.delayed} delayed, ${states.leased} leased`)
  const expected = [...site.urls.values()]
  const least = expected.filter(({ optional }) => !optional).length
  if (total < least || total > expected.length)
    wrong(`${total} links in all, the site has ${least} to ${expected.length}`)
  return violations
}

interface Again {
  readonly id: string
  readonly ms: number
}

/** I11: what a dead worker held is leased again soon, and work goes on soon after the queue is back. */
function checkRecovery({ rules }: Evidence, again: readonly Again[], resumes: readonly number[]): Violation[] {
  const violations: Violation[] = []
  const { reclaimWithinMs, resumeWithinMs } = rules
  for (const { id, ms } of again) {
    if (reclaimWithinMs !== null && ms > reclaimWithinMs)
      violations.push({ invariant: 'I11', detail: `${id}: leased again ${ms.toFixed(0)} ms after the kill` })
  }
  for (const ms of resumes) {
    if (resumeWithinMs !== null && ms > resumeWithinMs)
      violations.push({ invariant: 'I11', detail: `the first settle came ${ms.toFixed(0)} ms after the heal` })
  }
  return violations
}

function reclaimTimes({ byId }: Deliveries): Again[] {
  const times: Again[] = []
  for (const [id, deliveries] of byId) {
    for (const [index, delivery] of deliveries.entries()) {
      const next = deliveries[index + 1]
      // Leased alone from the second time on: that waits for a worker with empty hands.
      const solo = deliveries.slice(0, index).filter(({ accepted }) => accepted === null).length > 0
      // One whose settle was on its way may have been taken: a retry waits for its time.
      if (delivery.killedAt === null || delivery.settleSentAt !== null || next === undefined || solo) continue
      times.push({ id, ms: next.grantedAt - delivery.killedAt })
    }
  }
  return times
}

function resumeTimes(history: readonly HistoryEvent[]): number[] {
  const times: number[] = []
  let healedAt: number | null = null
  for (const { op, phase, tMono } of history) {
    if (op === 'fault') healedAt = null
    if (op === 'heal') healedAt = tMono
    if (op === 'settle' && phase === 'ok' && healedAt !== null) {
      times.push(tMono - healedAt)
      healedAt = null
    }
  }
  return times
}

function countFetches({ site, accesses }: Evidence): { extra: number } {
  const asked = new Map<string, number>()
  for (const { host, path } of accesses) {
    const url = urlOf(site, host, path)
    asked.set(url, (asked.get(url) ?? 0) + 1)
  }
  let extra = 0
  for (const [url, { fetches }] of site.urls) extra += Math.max(0, (asked.get(url) ?? 0) - fetches)
  return { extra }
}

function urlOf(site: Site, host: string, path: string): string {
  return `http://${host}:${site.options.port}${path}`
}

function genOf({ epoch }: Delivery): string {
  return epoch.slice(0, epoch.indexOf(':'))
}

function countOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

function spread(values: readonly number[]): Figures['releasedAgainMs'] {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return sorted.length === 0 ? null : { count: sorted.length, p50: at(0.5), max: at(1) }
}
