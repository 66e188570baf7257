import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { QUEUE_METRICS } from '../../../src/observe/metrics/metric-names.js'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

/** The table of docs/monitoring.md: counter → name in status, JSON, metrics and dashboard. */
const rows = [
  ...read('docs/monitoring.md').matchAll(/^\| (\w+) +\| [^|]+\| `(\w+)` +\| `(\w+)` +\| `(\w+)[^|]*` +\| (\w+) +\|$/gm),
].map(([, counter = '', text = '', json = '', metric = '', dashboard = '']) => ({
  ...{ counter, text, json, metric, dashboard },
}))

it('lists every counter of links and visits', () => {
  expect(rows.map(({ counter }) => counter)).toEqual(['done', 'dead', 'skipped', 'failed', 'retried', 'throttled'])
})

const status = read('src/cli/commands/status.ts')
const shown = ['crawl-figures', 'progress'].map((view) => read(`dashboard/src/views/${view}.tsx`))

it.each(rows)('$counter has the same name everywhere', ({ counter, text, json, metric, dashboard }) => {
  expect([text, json, dashboard.toLowerCase()]).toEqual([counter, counter, counter])
  expect(status).toContain(`[stats.${counter}, '${text}']`)
  expect(status).toMatch(new RegExp(`\\b${json}\\b`))
  expect(Object.keys(QUEUE_METRICS)).toContain(metric)
  expect(shown.join('\n').toLowerCase()).toContain(`name: '${counter}'`)
})
