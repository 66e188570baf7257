import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Simulates the examples of docs/sizing.md (`node scripts/simulate-examples.js 1e6 1e7`; all of them without arguments) and keeps their results, of which
 * `npm run docs` makes the table. A million URLs take 5 s of CPU, 1e8 eight minutes, 1e9 well over an hour.
 */
const RESULTS = fileURLToPath(new URL('./sizing-examples.json', import.meta.url))
const ROOT = fileURLToPath(new URL('..', import.meta.url))

const examples = JSON.parse(readFileSync(RESULTS, 'utf8'))
const wanted = process.argv.slice(2)
const unknown = wanted.filter((urls) => examples.every((example) => example.urls !== urls))
if (unknown.length > 0) {
  console.error(`no such example: ${unknown.join(', ')}; there are ${examples.map(({ urls }) => urls).join(', ')}`)
  process.exit(2)
}
for (const example of examples) {
  if (wanted.length > 0 && !wanted.includes(example.urls)) continue
  const flags = ['--urls', example.urls, '--hosts', example.hosts, '--workers', String(example.workers)]
  const printed = execFileSync(
    process.execPath,
    ['bin/shoal.js', 'simulate', 'examples/broad.json', ...flags, '--json'],
    { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 1e8 },
  )
  const { endMs, limits, workers, queue, store, cost } = JSON.parse(printed)
  example.result = {
    ...{ endMs, limits: limits.slice(0, 2), workersNeeded: workers.needed },
    ...{ queueBytes: queue.bytes, storeBytes: store.bytes, cost: cost.total },
  }
  writeFileSync(RESULTS, `${JSON.stringify(examples, null, 2)}\n`)
}
