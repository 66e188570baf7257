import { describe, expect, it } from 'vitest'
import { exposition } from '../../../src/observe/metrics/prometheus.js'
import { workerMetrics } from '../../../src/observe/metrics/worker-metrics.js'
import { checkMetrics } from '../../support/check-metrics.js'
import { someVitals } from '../vitals/some-vitals.js'

describe('the text', () => {
  it('is what Prometheus reads', () => {
    const text = exposition([
      {
        name: 'shoal_a_total',
        help: 'Two\nlines and a \\.',
        type: 'counter',
        points: [
          { labels: {}, value: 3 },
          { labels: { worker: 'a "b"\\c\nd' }, value: 0.5 },
        ],
      },
      { name: 'shoal_nothing', help: 'Left out.', type: 'gauge', points: [] },
      {
        name: 'shoal_b_seconds',
        help: 'H.',
        type: 'histogram',
        points: [{ labels: { worker: 'w' }, value: { ends: [0.1, 1], counts: [2, 0, 1], sum: 4.25 } }],
      },
    ])
    expect(text).toBe(`# HELP shoal_a_total Two\\nlines and a \\\\.
# TYPE shoal_a_total counter
shoal_a_total 3
shoal_a_total{worker="a \\"b\\"\\\\c\\nd"} 0.5
# HELP shoal_b_seconds H.
# TYPE shoal_b_seconds histogram
shoal_b_seconds_bucket{worker="w",le="0.1"} 2
shoal_b_seconds_bucket{worker="w",le="1"} 2
shoal_b_seconds_bucket{worker="w",le="+Inf"} 3
shoal_b_seconds_sum{worker="w"} 4.25
shoal_b_seconds_count{worker="w"} 3
`)
    const { problems, lines } = checkMetrics(text)
    expect(problems).toEqual([])
    expect(lines[1]?.labels).toEqual({ worker: 'a "b"\\c\nd' })
  })

  it('writes numbers that are none', () => {
    const points = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e21].map((value, i) => ({
      ...{ labels: { i: String(i) }, value },
    }))
    const text = exposition([{ name: 'x', help: 'h', type: 'gauge', points }])
    expect(text.match(/ \S+$/gm)?.slice(2)).toEqual([' NaN', ' +Inf', ' -Inf', ' 1e+21'])
    expect(checkMetrics(text).problems).toEqual([])
  })
})

describe('the checker', () => {
  it.each([
    ['a 1\n', 'a has no type'],
    ['# HELP a h\n# TYPE a counter\na 1\n', 'is no _total'],
    ['# HELP a h\n# TYPE a gauge\n# TYPE a gauge\na 1\n', 'second TYPE'],
    ['# HELP a h\n# TYPE a gauge\na 1\na 1\n', 'a second time'],
    ['# HELP a h\n# TYPE a gauge\na{b="1"} 1\na{b="1"} 2\n', 'a second time'],
    ['# HELP a h\n# TYPE a gauge\na{b="x\ny"} 1\n', 'bad labels'],
    ['# HELP a h\n# TYPE a gauge\na{b="1",} 1\n', 'bad labels'],
    ['# HELP a h\n# TYPE a gauge\na{b-c="1"} 1\n', 'bad label'],
    ['# HELP a h\n# TYPE a gauge\na one\n', 'bad value'],
    ['# HELP a h\n# TYPE a gauge\na 1', 'does not end'],
    ['# HELP a-b h\n# TYPE a-b gauge\na-b 1\n', 'bad name'],
    ['# TYPE a gauge\na 1\n', 'no help'],
    ['# HELP a h\n# TYPE a gauge\n', 'no value'],
    ['# HELP a h\n# TYPE a gauge\na 1\n# HELP b h\n# TYPE b gauge\nb 1\na{x="1"} 1\n', 'stand apart'],
    [
      '# HELP a h\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
      'not cumulative',
    ],
    ['# HELP a h\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n', 'no +Inf'],
    ['# HELP a h\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 1\n', 'no sum'],
    ['# HELP a h\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_sum 1\na_count 2\n', 'not that of +Inf'],
    ['# HELP a_ms h\n# TYPE a_ms gauge\na_ms 1\n', 'base units'],
  ])('finds what is wrong with %j', (text, problem) => {
    expect(checkMetrics(text).problems.join()).toContain(problem)
  })
})

describe('the metrics of workers', () => {
  it('are whole, and in seconds', () => {
    const took = { ...someVitals({}).took, fetch: { counts: [1, ...Array<number>(14).fill(0), 2], sumMs: 200_000 } }
    const one = someVitals({ worker: 'w1', pages: 7, took, errors: { timeout: 3 }, statuses: { 0: 1, 200: 7 } })
    const text = exposition(
      workerMetrics([
        { vitals: one, ageMs: 500 },
        { vitals: someVitals({}), ageMs: 0 },
      ]),
    )
    const { problems, lines } = checkMetrics(text)
    expect(problems).toEqual([])
    const value = (name: string, labels: object) =>
      lines.find(
        (line) => line.name === name && JSON.stringify(line.labels) === JSON.stringify({ worker: 'w1', ...labels }),
      )?.value
    expect(value('shoal_pages_total', {})).toBe(7)
    expect(value('shoal_failures_total', { code: 'timeout' })).toBe(3)
    expect(value('shoal_responses_total', { status: '0' })).toBe(1)
    expect(value('shoal_fetch_seconds_bucket', { le: '0.001' })).toBe(1)
    expect(value('shoal_fetch_seconds_bucket', { le: '60' })).toBe(1)
    expect(value('shoal_fetch_seconds_bucket', { le: '+Inf' })).toBe(3)
    expect(value('shoal_fetch_seconds_sum', {})).toBe(200)
    expect(value('shoal_slot_seconds_total', { doing: 'idle' })).toBe(0)
    expect(value('shoal_worker_report_age_seconds', {})).toBe(0.5)
    expect(value('shoal_event_loop_lag_seconds', {})).toBe(0.006)
  })

  it('do not grow with what a site sends', () => {
    const statuses = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [String(i), 1]))
    const errors = { constructor: 1, no_such_code: 1, timeout: 1 }
    const text = exposition(workerMetrics([{ vitals: someVitals({ statuses, errors }), ageMs: 0 }]))
    const { problems, lines } = checkMetrics(text)
    expect(problems).toEqual([])
    const told = lines.filter(({ name }) => name === 'shoal_responses_total')
    expect(told.length).toBeLessThan(80)
    expect(told.reduce((sum, { value }) => sum + value, 0)).toBe(1_000)
    expect(lines.filter(({ name }) => name === 'shoal_failures_total').map(({ labels }) => labels.code)).toEqual([
      'timeout',
      'other',
    ])
  })
})
