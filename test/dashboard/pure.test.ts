import { describe, expect, it } from 'vitest'
import { sparkPoints } from '../../dashboard/src/parts/spark-points.js'
import { rowsInSight } from '../../dashboard/src/parts/window.js'
import { crawlHref, routeOf, tokenIn } from '../../dashboard/src/routes.js'
import { columnsOf, stacked, withLatest } from '../../dashboard/src/samples.js'
import { makeEventReader, type ServerEvent, waitBefore } from '../../dashboard/src/sse.js'
import { endWords, sentence } from '../../dashboard/src/words.js'
import { CARDS, NOW, sample } from './fake-backends.js'

describe('addresses', () => {
  it('lead to a view and back', () => {
    expect(routeOf('')).toEqual({ view: 'overview', query: {} })
    expect(routeOf('#/workers')).toEqual({ view: 'workers', query: {} })
    for (const id of ['shop', 'a/b', '100%', '<img onerror=x>', 'ünder?score#']) {
      expect(routeOf(crawlHref(id))).toEqual({ view: 'crawl', crawl: id, part: 'live', query: {} })
      expect(routeOf(crawlHref(id, 'explain', { url: 'https://a.example/?x=1&y=#z' }))).toEqual({
        view: 'crawl',
        crawl: id,
        part: 'explain',
        query: { url: 'https://a.example/?x=1&y=#z' },
      })
    }
  })

  it('that lead nowhere say so', () => {
    for (const hash of [
      '#/nothing',
      '#/crawls',
      '#/crawls/',
      '#/crawls/a/b',
      '#/crawls/a/hosts/b',
      '#/constructor',
      '#/%',
    ]) {
      expect(routeOf(hash).view, hash).toBe('unknown')
    }
  })

  it('carry a token, which is no view', () => {
    expect(tokenIn('#token=abc')).toEqual({ token: 'abc', route: '#/' })
    expect(tokenIn('#token=a%2Bb&to=/workers')).toEqual({ token: 'a+b', route: '#/workers' })
    expect(tokenIn('#token=abc&to=https://elsewhere.example')).toEqual({ token: 'abc', route: '#/' })
    expect(tokenIn('#/')).toBeNull()
    expect(tokenIn('#token=')).toBeNull()
  })
})

describe('events', () => {
  const text =
    ': hello\n\nevent: overview\ndata: {"a":\ndata: 1}\n\ndata: plain\r\n\r\nevent: empty\n\nevent: cut\ndata: 1\n'

  it('are the same however the text is cut', () => {
    for (let size = 1; size <= text.length; size += 1) {
      const heard: ServerEvent[] = []
      const read = makeEventReader((event) => heard.push(event))
      for (let at = 0; at < text.length; at += size) read(text.slice(at, at + size))
      expect(heard, `pieces of ${size}`).toEqual([
        { event: 'overview', data: '{"a":\n1}' },
        { event: 'message', data: 'plain' },
      ])
    }
  })

  it('are waited for ever longer, up to a limit', () => {
    expect([1, 2, 3, 20].map((tries) => waitBefore(tries, 1))).toEqual([500, 1_000, 2_000, 10_000])
    expect(waitBefore(1, 0)).toBe(250)
  })
})

describe('long lists', () => {
  it('draw what is in sight, and a little beyond', () => {
    const list = { height: 900, rowHeight: 45, rows: 10_000 }
    expect(rowsInSight({ ...list, top: 300 })).toEqual({ from: 0, to: 26 })
    expect(rowsInSight({ ...list, top: -45_000 })).toEqual({ from: 988, to: 1_032 })
    expect(rowsInSight({ ...list, top: -450_000 })).toEqual({ from: 9_988, to: 10_000 })
    expect(rowsInSight({ ...list, top: 5_000 })).toEqual({ from: 0, to: 0 })
    expect(rowsInSight({ ...list, top: -9e9 })).toEqual({ from: 10_000, to: 10_000 })
    expect(rowsInSight({ ...list, rows: 0, top: 0 })).toEqual({ from: 0, to: 0 })
  })
})

describe('samples', () => {
  const five = [0, 5_000, 10_000, 40_000, 45_000].map(sample)

  it('grow at the end, by one step at a time, and leave at the beginning', () => {
    expect(withLatest([], sample(1), 5_000, '30m')).toHaveLength(1)
    expect(withLatest(five, null, 5_000, '30m')).toBe(five)
    expect(withLatest(five, sample(46_000), 5_000, '30m')).toBe(five)
    expect(withLatest(five, sample(50_000), 5_000, '30m').map(({ at }) => at)).toEqual([
      0, 5_000, 10_000, 40_000, 45_000, 50_000,
    ])
    expect(withLatest(five, sample(30 * 60_000 + 10_000), 5_000, '30m')[0]?.at).toBe(10_000)
  })

  it('have a gap where nobody sampled', () => {
    const [seconds, workers] = columnsOf(five, 5_000, [({ workers }) => workers])
    expect(seconds).toEqual([0, 5, 10, 15, 40, 45])
    expect(workers).toEqual([5, 5, 5, null, 5, 5])
  })

  it('stand on each other', () => {
    expect(
      stacked([
        [1, null, 3],
        [10, null, 30],
        [0, null, 300],
      ]),
    ).toEqual([
      [1, null, 3],
      [11, null, 33],
      [11, null, 333],
    ])
  })

  it('draw a line from the bottom to the top', () => {
    expect(sparkPoints([0, 2, 1], 100, 22)).toBe('0,21 50,1 100,11')
    expect(sparkPoints([0, 0], 100, 22)).toBe('0,21 100,21')
  })
})

describe('words', () => {
  it('say when a crawl ends, and what decides it', () => {
    const said = CARDS.map((card) => endWords(card.stats, card.estimate, NOW))
    expect(said).toEqual([
      {
        when: 'ends in 1 h 13 min',
        host: 'slow-press.example',
        why: 'is the limit (crawl delay); links left ÷ rate: 18 min',
      },
      { when: 'ends in 13 min 10 s', host: null, why: 'limited by workers (all slots are busy)' },
      { when: 'paused', host: null, why: 'resume it to get an estimate' },
      { when: 'finished 5 h ago', host: null, why: 'after 1 d 1 h' },
      { when: 'cancelled 1 d ago', host: null, why: 'after 4 h' },
    ])
  })

  it('say why nothing can be said', () => {
    const [{ stats }] = CARDS as [(typeof CARDS)[number]]
    const unknown = { etaSeconds: null, decidedBy: null, plainSeconds: null }
    const empty = { ...stats, queued: 0, leased: 0, delayed: 0 }
    expect(endWords({ ...empty, seeding: true }, unknown, NOW).why).toBe('waiting for start URLs')
    expect(endWords({ ...stats, startedAt: null }, unknown, NOW).why).toBe('no worker has started on it')
    expect(endWords(stats, unknown, NOW).when).toBe('no estimate yet')
    const closed = { kind: 'host', host: 'a.example', reason: 'closed' } as const
    expect(endWords(stats, { ...unknown, decidedBy: closed }, NOW)).toEqual({
      when: 'no estimate yet',
      host: 'a.example',
      why: 'is the limit (blocked manually)',
    })
  })

  it('begin large and end with a full stop, unless a name is first', () => {
    expect(sentence('the queue is slow')).toBe('The queue is slow.')
    expect(sentence('workers: all busy.')).toBe('Workers: all busy.')
    expect(sentence('shop.example is closed')).toBe('shop.example is closed.')
    expect(sentence('')).toBe('')
  })
})
