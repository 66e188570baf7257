import { describe, expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { widthOf } from '../../../src/cli/terminal/width.js'
import { type Screen, type Seen, screenOf, share } from '../../../src/cli/top/top-screen.js'
import { FIRST_STATE, type Key, press, type TopState } from '../../../src/cli/top/top-state.js'
import { ShoalError } from '../../../src/errors.js'
import type { Alert } from '../../../src/observe/alerts/alert.js'
import { someCrawl, someHost, someSnapshot, someWorker } from './some-snapshot.js'

const plain = styleFor({ isTTY: true }, { NO_COLOR: '1' })
const coloured = styleFor({ isTTY: true }, {})
const screen = (change: Partial<Screen> = {}): Screen => ({
  ...{ columns: 80, rows: 24, where: 'redis://queue.example', style: plain },
  ...change,
})
const seen = (snapshot: Seen['snapshot'] = someSnapshot()): Seen => ({ snapshot, failure: null })

const key = (letter: string): Key => ({ letter, named: null })
const named = (name: NonNullable<Key['named']>): Key => ({ letter: '', named: name })
const pressed = (keys: readonly (string | Key)[], snapshot = someSnapshot()): TopState =>
  keys
    .flatMap((one) => (typeof one === 'string' ? [...one].map(key) : [one]))
    .reduce((state, one) => press(state, one, snapshot).state, FIRST_STATE)

const many = someSnapshot({
  crawls: Array.from({ length: 30 }, (_, i) => someCrawl({ id: `c${i}`, spider: `spider${i}`, rate: i })),
  workers: Array.from({ length: 40 }, (_, i) => someWorker({ worker: `worker-${i}` })),
})
many.crawls.forEach(({ snapshot }) => {
  Object.assign(snapshot ?? {}, {
    hosts: Array.from({ length: 100 }, (_, i) => someHost({ host: `host-${i}.example`, failed: i })),
  })
})

describe('the screen', () => {
  it.each([
    [80, 24],
    [200, 50],
    [60, 14],
    [40, 8],
    [20, 3],
  ])('fits into %i × %i, and never fills the last row', (columns, rows) => {
    for (const style of [plain, coloured])
      for (const state of [FIRST_STATE, pressed([named('enter')], many), pressed(['?']), pressed(['p'])])
        for (const snapshot of [null, someSnapshot(), many, someSnapshot({ crawls: [], workers: [] })]) {
          const lines = screenOf(state, seen(snapshot), screen({ columns, rows, style }))
          expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1))
          for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(columns)
        }
  })

  it('shows crawls with their end and what decides it, the slowest stage, hosts and workers', () => {
    const text = screenOf(FIRST_STATE, seen(), screen()).join('\n')
    expect(text.replace(/\d\d:\d\d:\d\d/, '12:00:00')).toMatchInlineSnapshot(`
      "shoal top  redis://queue.example         1 worker · 0 of 4 slots busy · 12:00:00
      ─ crawls ─────────────────────────────────────────────────────────────────────
        spider  state       %  done  left   rate  recent            failed     ends in
      › books   running  49 %   490   501  8.0/s  ▂▃▄█                  12  1 min 02 s

      books  ends in about 1 min 02 s, limited by shop.example (crawl delay)
      bottleneck: the pace of shop.example: one request every 1.0 s, 8.0/s are done
      → more workers do not help
      ─ hosts of books ─────────────────────────────────────────────────────────────
        host          pending  in flight  done  failed  next slot
        shop.example      500          1    90       2  in 300 ms: crawl delay
      ─ workers ────────────────────────────────────────────────────────────────────
        worker  state    busy  done  failed   rate  memory   CPU  loop lag        seen
        w1      working   0/4   490      12  8.2/s  123 MB  25 %      6 ms  500 ms ago








      tab pane · ↑↓ move · s sort · / filter · enter crawl · p pause · ? help · q quit"
    `)
  })

  it('shows one crawl alone, with every state and its rate over time', () => {
    const text = screenOf(pressed([named('enter')]), seen(), screen()).join('\n')
    for (const part of [
      'books-1',
      '499 / 1,000  49 %',
      '500 queued',
      '▂▃▄█ 8.0/s · 12 failed · 5.0 MB read',
      'ends in about 1 min 02 s',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('─ crawls')
  })

  it('has no colours, and marks what is chosen all the same, where NO_COLOR is set', () => {
    const lines = screenOf(FIRST_STATE, seen(), screen())
    expect(lines.join('')).not.toContain('\x1b')
    expect(lines.filter((line) => line.startsWith('› ')).map((line) => line.slice(0, 7))).toEqual(['› books'])
    expect(screenOf(FIRST_STATE, seen(), screen({ style: coloured })).join('')).toContain('\x1b[7m')
  })

  it('lets nothing from the web move the cursor', () => {
    const evil = 'a\x1b[2J\x1b]0;x\x07\r\n\u202eb'
    const alert = { message: evil, severity: 'warn' } as Alert
    const crawl = someCrawl({ spider: evil, id: evil }, [someHost({ host: evil })])
    const advice = { ...(crawl.advice ?? ({} as never)), sentence: evil, next: evil }
    const snapshot = someSnapshot({
      crawls: [{ ...crawl, advice }],
      workers: [someWorker({ worker: evil, about: { machine: evil, pid: 1, version: evil } })],
      alerts: [alert],
    })
    const failure = new ShoalError('queue_down', evil)
    for (const state of [
      FIRST_STATE,
      pressed([named('enter')], snapshot),
      pressed(['p'], snapshot),
      pressed([`/${evil}`], snapshot),
    ])
      for (const columns of [80, 200]) {
        const lines = screenOf(state, { snapshot, failure }, screen({ columns, where: evil }))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
        for (const line of lines) expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
      }
  })

  it('tells that the queue is down, in red, and keeps what it saw', () => {
    const failure = new ShoalError('queue_down', 'the queue is down')
    const lines = screenOf(FIRST_STATE, { snapshot: someSnapshot(), failure }, screen({ style: coloured }))
    expect(lines[1]).toContain('\x1b[31mqueue_down: the queue is down')
    expect(lines.join('')).toContain('books')
  })

  it('tells alerts, the worst first, and workers that are missed', () => {
    const alerts = [
      { message: 'slow', severity: 'warn' },
      { message: 'nothing moves', severity: 'critical' },
    ] as Alert[]
    const snapshot = someSnapshot({ alerts, workers: [someWorker(), someWorker({ worker: 'w2', state: 'missing' })] })
    const lines = screenOf(FIRST_STATE, seen(snapshot), screen())
    expect(lines[0]).toContain('1 worker · 1 missing')
    expect(lines[1]).toBe('▲ nothing moves  and 1 more: shoal alerts')
  })
})

describe('keys', () => {
  it('move the mark, which stays with its row', () => {
    expect(pressed(['jj', named('down')], many).chosen.crawls).toBe('c3')
    expect(pressed(['jjk'], many).chosen.crawls).toBe('c1')
    expect(pressed(['G'], many).chosen.crawls).toBe('c29')
    expect(pressed(['Gg', named('up')], many).chosen.crawls).toBe('c0')
    expect(pressed([named('pageDown')], many).chosen.crawls).toBe('c10')
    const lines = screenOf(pressed(['G'], many), seen(many), screen())
    expect(lines.find((line) => line.startsWith('›'))).toContain('spider29')
    expect(lines.join('\n')).toMatch(/─ crawls .* \d+ to 30 of 30/)
  })

  it('go from pane to pane, and sort and filter each', () => {
    expect(pressed([named('tab')]).pane).toBe('hosts')
    expect(pressed([named('tab'), named('tab'), named('tab')]).pane).toBe('crawls')
    expect(pressed([named('backTab')]).pane).toBe('workers')
    const sorted = screenOf(pressed([named('tab'), 'ss'], many), seen(many), screen())
    expect(sorted.join('\n')).toMatch(/─ hosts of spider0 .* by failed/)
    expect(sorted.find((line) => line.startsWith('›'))).toContain('host-99.example')
    const filtered = pressed([named('tab'), '/t-77', named('enter')], many)
    expect(filtered).toMatchObject({ typing: false, filter: { hosts: 't-77' } })
    expect(screenOf(filtered, seen(many), screen()).find((line) => line.startsWith('›'))).toContain('host-77.example')
    expect(pressed([named('tab'), '/ab', named('rub')], many).filter.hosts).toBe('a')
    expect(pressed([named('tab'), '/ab', named('escape')], many)).toMatchObject({
      typing: false,
      filter: { hosts: '' },
    })
    expect(pressed([named('tab'), '/ab', named('enter'), named('escape')], many).filter.hosts).toBe('')
  })

  it('ask before they pause, and do it only for y', () => {
    const asked = pressed(['p'])
    expect(screenOf(asked, seen(), screen()).at(-1)).toBe('Pause crawl books-1 of books? y / n')
    expect(press(asked, key('n'), someSnapshot())).toMatchObject({ state: { asking: null }, order: null })
    expect(press(asked, named('enter'), someSnapshot()).order).toBe(null)
    expect(press(asked, key('y'), someSnapshot()).order).toEqual({
      ...{ kind: 'set', crawl: 'books-1', spider: 'books', state: 'paused' },
    })
    const paused = someSnapshot({ crawls: [someCrawl({ state: 'paused' })] })
    expect(press(pressed(['p'], paused), key('y'), paused).order).toMatchObject({ state: 'running' })
    expect(pressed(['p'], someSnapshot({ crawls: [someCrawl({ state: 'finished' })] }))).toMatchObject({
      ...{ asking: null, notice: 'the crawl is finished' },
    })
    expect(pressed(['p'], someSnapshot({ crawls: [] })).asking).toBe(null)
  })

  it('show one crawl and go back, show help, leave', () => {
    expect(pressed([named('enter')])).toMatchObject({ alone: true, pane: 'hosts', chosen: { crawls: 'books-1' } })
    expect(pressed([named('enter'), named('tab'), named('tab')]).pane).toBe('hosts')
    expect(pressed([named('enter'), named('escape')])).toMatchObject({ alone: false, pane: 'crawls' })
    expect(pressed(['?', 'j'])).toMatchObject({ help: false, chosen: { crawls: null } })
    expect(press(pressed(['?']), key('q'), null).order).toEqual({ kind: 'quit' })
    expect(press(FIRST_STATE, key('q'), null).order).toEqual({ kind: 'quit' })
    expect(pressed(['/q']).filter.crawls).toBe('q')
  })
})

describe('room', () => {
  it('goes to those who want it, the chosen pane first', () => {
    const pane = (wants: number, favoured = false) => ({ wants, favoured })
    expect(share([pane(1, true), pane(1), pane(1)], 20)).toEqual([1, 1, 1])
    expect(share([pane(50, true), pane(50), pane(50)], 15)).toEqual([9, 3, 3])
    expect(share([pane(2), pane(50, true), pane(3)], 15)).toEqual([2, 10, 3])
    expect(share([pane(50), pane(50), pane(50)], 0)).toEqual([1, 1, 1])
  })
})
