import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const text = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const EVENTS = [...(text('src/log.ts').match(/LogEvent =\n([\s\S]*?)\n\n/)?.[1] ?? '').matchAll(/'([a-z._]+)'/g)].map(
  ([, name = '']) => name,
)

it('docs/logs.md has every event of the log, and no other', () => {
  expect(EVENTS.length).toBeGreaterThan(50)
  const rows = [...text('docs/logs.md').matchAll(/^\| `([a-z._]+)` +\| (?:debug|info|warn|error)/gm)]
  expect(rows.map(([, name]) => name).sort()).toEqual([...EVENTS].sort())
})

it('every event happens somewhere', () => {
  const files = readdirSync(new URL('../src', import.meta.url), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => file.endsWith('.ts') && file !== 'log.ts').map((file) => text(`src/${file}`))
  const said = sources.join('\n')
  // Some are put together: `schedule.${how}`.
  const made = (event: string) => said.includes(`'${event}'`) || said.includes(`\`${event.split('.')[0]}.\${`)
  expect(EVENTS.filter((event) => !made(event))).toEqual([])
})
