import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { BUILD_METRICS, QUEUE_METRICS, WORKER_METRICS } from '../../../src/observe/metrics/metric-names.js'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
type Table = Readonly<Record<string, { type: string; labels: readonly string[]; help: string }>>
const TABLES: readonly Table[] = [WORKER_METRICS, QUEUE_METRICS, BUILD_METRICS]
const METRICS = Object.assign({}, ...TABLES) as Table

describe('docs/monitoring.md', () => {
  it.each(TABLES.map((table) => [Object.keys(table)[0], table] as const))(
    'has the table of %s as the code has it',
    (_, table) => {
      const rows = Object.entries(table).map(([name, { type, labels, help }]) => [
        `\`${name}\``,
        type,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ])
      const told = read('docs/monitoring.md')
        .split('\n')
        .filter((line) => line.startsWith('| `shoal_'))
        .map((line) =>
          line
            .split('|')
            .slice(1, -1)
            .map((cell) => cell.trim()),
        )
      expect(told.filter(([name = '']) => name.slice(1, -1) in table)).toEqual(rows)
    },
  )

  it('names no metric that there is not', () => {
    for (const [name] of read('docs/monitoring.md').matchAll(/\bshoal_[a-z_]+/g)) expect(METRICS).toHaveProperty(name)
  })
})

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

describe('the dashboard of Grafana', () => {
  const { panels, templating, schemaVersion } = JSON.parse(read('deploy/grafana/shoal.json')) as {
    panels: Panel[]
    templating: { list: { name: string; query: unknown }[] }
    schemaVersion: number
  }
  const expressions = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))

  it('asks only for metrics and labels that exist', () => {
    expect(expressions.length).toBeGreaterThan(30)
    for (const [title, expr] of [...expressions, ['variables', JSON.stringify(templating)] as const]) {
      for (const [whole, name = '', selector = ''] of expr.matchAll(/\b(shoal_[a-z_]+)(?:\{([^}]*)\})?/g)) {
        const metric = METRICS[name] ?? METRICS[name.replace(/_(bucket|sum|count)$/, '')]
        expect(metric, `${title}: ${whole}`).toBeDefined()
        for (const [, label = ''] of selector.matchAll(/(\w+)=~?"/g))
          expect(metric?.labels, `${title}: ${whole}`).toContain(label)
      }
    }
  })

  it('sums over labels that its metrics have', () => {
    for (const [title, expr] of expressions) {
      const [name = ''] = /shoal_[a-z_]+/.exec(expr) ?? []
      const labels = METRICS[name]?.labels ?? [...(METRICS[name.replace(/_bucket$/, '')]?.labels ?? []), 'le']
      for (const [, by = ''] of expr.matchAll(/by \(([^)]*)\)/g))
        for (const label of by.split(', ')) expect(labels, `${title}: ${expr}`).toContain(label)
    }
  })

  it('takes rates of counters and of histograms, and of nothing else', () => {
    for (const [title, expr] of expressions) {
      for (const [, name = ''] of expr.matchAll(/\b(shoal_[a-z_]+)(?:\{[^}]*\})?\[/g)) {
        const isHistogram = METRICS[name.replace(/_bucket$/, '')]?.type === 'histogram'
        expect(isHistogram || METRICS[name]?.type === 'counter', `${title}: ${expr}`).toBe(true)
      }
      if (/shoal_[a-z_]+_total\b/.test(expr)) expect(expr, title).toContain('rate(')
    }
  })

  it('shows every metric but those that only explain others', () => {
    const shown = expressions.map(([, expr]) => expr).join('\n') + JSON.stringify(templating)
    const silent = ['shoal_worker_start_time_seconds', 'shoal_crawl_bytes_total', 'shoal_build_info']
    expect(Object.keys(METRICS).filter((name) => !shown.includes(name))).toEqual(silent)
    expect(schemaVersion).toBeGreaterThanOrEqual(38)
  })
})
