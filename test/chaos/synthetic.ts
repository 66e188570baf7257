import type { AccessEntry } from '../support/access-log.js'
import type { Evidence } from './checker.js'
import type { HistoryEvent } from './history.js'
import { createSite, SITE_DEFAULTS } from './site.js'

/** A crawl that never took place and in which everything went well, one kill included: what the checker must not complain about. */
export interface Draft {
  history: HistoryEvent[]
  accesses: AccessEntry[]
  records: { key: string; epoch: string }[]
  dead: string[]
  skipped: string[]
  notDone: string[]
  state: string
  counters: Record<'total' | 'queued' | 'delayed' | 'leased' | 'done' | 'dead' | 'skipped', number>
  scanned: Partial<Record<'queued' | 'delayed' | 'leased' | 'done' | 'dead' | 'skipped', number>>
  injected: Record<string, number>
}

export const DELAY_MS = 50
export const LEASE_MS = 5_000
export const SITE = createSite({
  ...SITE_DEFAULTS,
  pages: 1_000,
  hosts: 4,
  port: 8_000,
  failsOnce: 20,
  throttles: 0,
})

/** The page whose first worker is killed, and the one that fails once: places to put anomalies. */
export const KILLED_PAGE = 3

export function draft(): Draft {
  const history: HistoryEvent[] = []
  const accesses: AccessEntry[] = []
  const records: Draft['records'] = []
  const dead: string[] = []
  const skipped: string[] = []
  let epoch = 1_000
  let t = 0
  const event = (at: number, proc: string, fields: Partial<HistoryEvent>) =>
    history.push({
      tMono: at,
      tWall: at,
      proc,
      op: 'lease',
      phase: 'ok',
      id: '',
      epoch: '',
      host: '',
      ...fields,
    })
  const access = (at: number, url: string, status: number) => {
    const { hostname: host, pathname: path } = new URL(url)
    accesses.push({ t: at, end: at + 2, status, bytes: 0, host, method: 'GET', path, n: 1, run: 1, conn: 1, ua: '' })
  }

  for (const origin of SITE.origins) access(0, `${origin}/robots.txt`, 200)
  for (const [url, expected] of SITE.urls) {
    if (expected.optional) continue
    const killed = expected.page === KILLED_PAGE && expected.end === 'record'
    const rounds = expected.kind === 'always-fails' ? 4 : expected.kind === 'fails-once' || killed ? 2 : 1
    for (let round = 1; round <= rounds; round++) {
      t += DELAY_MS * 2
      const proc = killed && round === 1 ? 'a' : 'b'
      const token = `1:${++epoch}`
      const attempt = killed ? 1 : round
      event(t, proc, { id: url, epoch: token, leaseMs: LEASE_MS, attempt, invokedAt: t - 1 })
      if (expected.end !== 'skipped') access(t + 1, url, 200)
      if (killed && round === 1) {
        event(t + 3, 'injector', { op: 'fault', phase: 'info', fault: 'kill', target: 'a' })
        t += LEASE_MS
        continue
      }
      const fails = expected.end === 'dead' || (expected.kind === 'fails-once' && round === 1)
      const outcome =
        expected.end === 'skipped' ? 'skipped' : !fails ? 'done' : round === 4 ? 'dead' : ('retry' as const)
      if (expected.kind === 'moved')
        access(t + DELAY_MS, `${SITE.origins[(expected.page + 1) % 4]}/t/${expected.page}`, 200)
      if (outcome === 'done') {
        const { page } = expected
        event(t + 4, proc, { op: 'write', id: url, epoch: token, status: 'written' })
        records.push({ key: String(page), epoch: token })
      }
      event(t + 5, proc, { op: 'settle', phase: 'invoke', id: url, epoch: token, outcome })
      event(t + 6, proc, { op: 'settle', phase: 'ok', id: url, epoch: token, outcome })
    }
    if (expected.end === 'dead') dead.push(url)
    if (expected.end === 'skipped') skipped.push(url)
  }
  const total = [...SITE.urls.values()].filter(({ optional }) => !optional).length
  const counters = {
    total,
    queued: 0,
    delayed: 0,
    leased: 0,
    done: total - dead.length - skipped.length,
    dead: dead.length,
    skipped: skipped.length,
  }
  const { done: _, total: __, ...scanned } = counters
  return {
    history: history.sort((a, b) => a.tMono - b.tMono),
    accesses,
    records,
    dead,
    skipped,
    notDone: [],
    state: 'finished',
    counters,
    scanned,
    injected: { 'kill -9': 1 },
  }
}

export function evidenceOf(made: Draft): Evidence {
  const { history, accesses, records, injected, ...queue } = made
  return {
    site: SITE,
    accesses,
    history: [...history].sort((a, b) => a.tMono - b.tMono),
    records,
    injected,
    queue,
    rules: {
      delayMs: DELAY_MS,
      concurrency: 1,
      retries: 3,
      maxReclaims: 3,
      reclaimWithinMs: LEASE_MS + 2_000,
      resumeWithinMs: 5_000,
      lostAfterMs: LEASE_MS / 2,
      queueMayGoBack: false,
    },
  }
}
