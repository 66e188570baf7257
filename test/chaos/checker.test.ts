import { describe, expect, it } from 'vitest'
import { check, type Invariant } from './checker.js'
import type { HistoryEvent } from './history.js'
import { DELAY_MS, type Draft, draft, evidenceOf, KILLED_PAGE, LEASE_MS, SITE } from './synthetic.js'

const killedUrl = SITE.urlOf(KILLED_PAGE)
const plainUrl = urlOfKind('plain', 20)
const failingUrl = urlOfKind('always-fails', 0)
const onceUrl = urlOfKind('fails-once', 0)

describe('a history in which all went well', () => {
  it('passes, and is measured', () => {
    const { verdict, violations, invalid, figures } = check(evidenceOf(draft()))
    expect({ verdict, violations, invalid }).toEqual({ verdict: 'passed', violations: [], invalid: [] })
    expect(figures).toMatchObject({ lost: 0, overlaps: 0, staleAccepted: 0, gapViolations: 0, extraFetches: 1 })
    expect(figures.releasedAgainMs).toMatchObject({ count: 1 })
  })

  it('passes when the reply of a settle is lost and the same settle is repeated after somebody else got the link', () => {
    const made = draft()
    // onceUrl: the retry reached the queue, its reply did not.
    const ok = find(made, onceUrl, 'settle', 'ok', 0)
    made.history = made.history.filter((event) => event !== ok)
    made.history.push({ ...ok, phase: 'info' }, { ...ok, tMono: ok.tMono + 10_000 })
    expect(check(evidenceOf(made)).violations).toEqual([])
  })

  it('takes a stale settle that was refused for what it is', () => {
    const made = draft()
    const first = find(made, killedUrl, 'lease', 'ok', 0)
    made.history = made.history.map((event) => (event.op === 'fault' ? { ...event, fault: 'freeze' } : event))
    const late = { ...first, op: 'settle' as const, outcome: 'done' as const, tMono: first.tMono + 20_000 }
    made.history.push({ ...late, phase: 'invoke' }, { ...late, phase: 'fail', tMono: late.tMono + 1 })
    const { verdict, figures } = check(evidenceOf(made))
    expect(verdict).toBe('passed')
    expect(figures.staleRefused).toBe(1)
  })
})

describe('a worker that was cut off', () => {
  const silenced = (target: string) => {
    const made = draft()
    made.history = made.history.map((event) => (event.op === 'fault' ? { ...event, fault: 'cut', target } : event))
    return check(evidenceOf(made)).violations
  }

  it('is silent, so what it held may be taken over', () => {
    expect(silenced('a')).toEqual([])
  })

  it('explains nothing that happened to another one', () => {
    expect(silenced('c')).toMatchObject([
      { invariant: 'I8', detail: expect.stringContaining('nothing happened to it') },
    ])
  })
})

describe('a run that proves nothing', () => {
  it('is invalid without a fault', () => {
    const nothing: Record<string, number>[] = [{}, { 'kill -9': 0 }]
    for (const injected of nothing) {
      const { verdict, invalid } = check(evidenceOf({ ...draft(), injected }))
      expect({ verdict, invalid }).toMatchObject({ verdict: 'invalid', invalid: [/no fault/] })
    }
  })

  it('is invalid when the drain was not reached', () => {
    const { verdict, invalid } = check(evidenceOf({ ...draft(), state: 'running' }))
    expect({ verdict, invalid }).toMatchObject({ verdict: 'invalid', invalid: [/drain/] })
  })

  it('is invalid when nothing was recorded', () => {
    const made = draft()
    made.history = []
    const { invalid } = check(evidenceOf(made))
    expect(invalid).toMatchObject([/history/])
  })
})

/** Each anomaly, done to the clean history, and the invariant that must notice. */
const ANOMALIES: Record<string, [Invariant, (made: Draft) => void]> = {
  'a page without a record': ['I1', (made) => drop(made.records, ({ key }) => key === '20')],
  'a page stored twice': ['I1', (made) => made.records.push({ key: '20', epoch: '1:9999' })],
  'a failing page that is not among the dead letters': ['I1', (made) => drop(made.dead, (url) => url === failingUrl)],
  'a dead letter twice': ['I1', (made) => made.dead.push(failingUrl)],
  'a good page that died': ['I1', (made) => made.dead.push(plainUrl)],
  'a forbidden page that is not accounted for': ['I1', (made) => made.skipped.pop()],
  'a page that the queue forgot': ['I1', (made) => made.notDone.push(plainUrl)],
  'a request for a page that nobody linked': ['I2', (made) => made.accesses.push(access(made, '/p/424242'))],
  'a lease of a link that nobody added': ['I2', (made) => lease(made, `${SITE.origins[0]}/p/424242`, {})],
  'a record of no page': ['I2', (made) => made.records.push({ key: '-1', epoch: '1:1' })],
  'a row older than the settled lease': [
    'I3',
    (made) => change(made.records, ({ key }) => key === '20', { epoch: '1:1' }),
  ],
  'a settle before the commit': [
    'I3',
    (made) => {
      const write = find(made, plainUrl, 'write', 'ok', 0)
      change(made.history, (event) => event === write, { tMono: write.tMono + 50 })
    },
  ],
  'a link leased to two workers at once': [
    'I4',
    (made) => {
      const first = find(made, killedUrl, 'lease', 'ok', 0)
      drop(made.history, (event) => event.op === 'fault')
      const second = find(made, killedUrl, 'lease', 'ok', 1)
      const early = first.tMono + LEASE_MS / 2
      change(made.history, (event) => event === second, { tMono: early, invokedAt: early - 1 })
    },
  ],
  'a link of a frozen worker leased to another before it could be lost': [
    'I4',
    (made) => {
      const first = find(made, killedUrl, 'lease', 'ok', 0)
      change(made.history, (event) => event.op === 'fault', { fault: 'freeze' })
      const second = find(made, killedUrl, 'lease', 'ok', 1)
      const early = first.tMono + LEASE_MS / 4
      change(made.history, (event) => event === second, { tMono: early, invokedAt: early - 1 })
    },
  ],
  'a link leased again after it was done': ['I5', (made) => lease(made, plainUrl, { epoch: '1:999999' })],
  'a stale settle that was accepted': [
    'I6',
    (made) => {
      const first = find(made, onceUrl, 'lease', 'ok', 0)
      drop(made.history, (event) => event.op === 'settle' && event.epoch === first.epoch)
      const late = { ...first, op: 'settle' as const, outcome: 'retry' as const, tMono: first.tMono + 9_000 }
      made.history.push({ ...late, phase: 'invoke' }, { ...late, phase: 'ok', tMono: late.tMono + 1 })
    },
  ],
  'an attempt burned on a good page': [
    'I7',
    (made) => {
      const only = find(made, plainUrl, 'lease', 'ok', 0)
      change(made.history, (event) => event === only, { attempt: 2 })
    },
  ],
  'a page given up too early': [
    'I7',
    (made) => drop(made.accesses, ({ path }) => path === new URL(failingUrl).pathname, 1),
  ],
  'a link that goes round for ever': [
    'I7',
    (made) => {
      for (let round = 1; round <= 5; round++) lease(made, killedUrl, { epoch: `1:${round}`, tMono: round })
    },
  ],
  'a page fetched again without a reason': [
    'I8',
    (made) => {
      for (let time = 1; time <= 3; time++) made.accesses.push(access(made, '/p/20'))
    },
  ],
  'leases lost by a worker to which nothing happened': [
    'I8',
    (made) => {
      const late = [urlOfKind('plain', 500), urlOfKind('plain', 600)]
      drop(made.history, (event) => event.op === 'settle' && late.includes(event.id))
    },
  ],
  'a gap that is too short': [
    'I9',
    (made) => change(made.accesses, ({ path }) => path === '/p/20', { t: gapBefore(made, '/p/20', DELAY_MS * 0.8) }),
  ],
  'two requests at once': ['I9', (made) => change(made.accesses, ({ path }) => path === '/p/20', { end: 1e9 })],
  'a request for what robots.txt forbids': ['I9', (made) => made.accesses.push(access(made, '/x/1'))],
  'a Retry-After that was not kept': [
    'I9',
    (made) => change(made.accesses, ({ path }) => path === '/p/20', { status: 429 }),
  ],
  'counters that do not add up': ['I10', (made) => made.counters.done--],
  'a counter that is not what a scan finds': ['I10', (made) => Object.assign(made.scanned, { dead: 99 })],
  'something left over': [
    'I10',
    (made) => {
      made.counters.leased++
      made.counters.done--
      made.scanned.leased = 1
    },
  ],
  'a link counted that the site does not have': [
    'I10',
    (made) => {
      made.counters.total += 500
      made.counters.done += 500
    },
  ],
  'a dead worker whose link waits too long': [
    'I11',
    (made) => {
      const { epoch } = find(made, killedUrl, 'lease', 'ok', 1)
      for (const [index, event] of made.history.entries()) {
        if (event.epoch === epoch) made.history[index] = { ...event, tMono: event.tMono + 30_000 }
      }
    },
  ],
  'a queue that is back and not used': [
    'I11',
    (made) => {
      const last = Math.max(...made.history.map(({ tMono }) => tMono))
      const heal = find(made, plainUrl, 'lease', 'ok', 0)
      made.history.push({ ...heal, proc: 'injector', op: 'heal', phase: 'info', id: '', epoch: '', tMono: last + 1 })
      const late = find(made, plainUrl, 'settle', 'ok', 0)
      made.history.push({ ...late, tMono: last + 60_000 })
    },
  ],
}

describe('each anomaly is noticed', () => {
  for (const [name, [invariant, spoil]] of Object.entries(ANOMALIES)) {
    it(`${invariant}: ${name}`, () => {
      const made = draft()
      spoil(made)
      const { verdict, violations } = check(evidenceOf(made))
      expect(verdict).toBe('violated')
      expect(violations.map((violation) => violation.invariant)).toContain(invariant)
    })
  }
})

function urlOfKind(kind: string, from: number): string {
  for (const [url, expected] of SITE.urls) {
    if (expected.page >= from && expected.kind === kind && expected.end !== 'skipped' && !expected.optional) return url
  }
  throw new Error(`the site has no page that is ${kind}`)
}

function find({ history }: Draft, id: string, op: HistoryEvent['op'], phase: HistoryEvent['phase'], index: number) {
  const found = history.filter((event) => event.id === id && event.op === op && event.phase === phase)[index]
  if (found === undefined) throw new Error(`no ${op} ${phase} of ${id}`)
  return found
}

function lease(made: Draft, id: string, fields: Partial<HistoryEvent>): void {
  const like = find(made, plainUrl, 'lease', 'ok', 0)
  const tMono = like.tMono + 100_000
  made.history.push({ ...like, id, tMono, invokedAt: tMono - 1, ...fields })
}

function access({ accesses }: Draft, path: string) {
  const last = accesses.at(-1)
  if (last === undefined) throw new Error('nobody asked the site for anything')
  const t = Math.max(...accesses.map((entry) => entry.t)) + 1_000
  return { ...last, t, end: t + 1, path, host: '127.0.0.1' }
}

function gapBefore({ accesses }: Draft, path: string, gap: number): number {
  const entry = accesses.find((other) => other.path === path)
  const before = accesses.filter(({ t, host }) => host === entry?.host && t < entry.t).map(({ t }) => t)
  return Math.max(...before) + gap
}

function drop<Item>(items: Item[], which: (item: Item) => boolean, most = items.length): void {
  for (let index = items.length - 1, left = most; index >= 0 && left > 0; index--) {
    const item = items[index]
    if (item === undefined || !which(item)) continue
    items.splice(index, 1)
    left--
  }
}

function change<Item>(items: Item[], which: (item: Item) => boolean, fields: Partial<Item>): void {
  for (const [index, item] of items.entries()) if (which(item)) items[index] = { ...item, ...fields }
}
