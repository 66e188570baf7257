import { parseArgs } from 'node:util'
import { runProxies } from './proxies.js'

/** `npm run proxies`: the pace by host and proxy at three sizes of a fleet, then a pool in which half of the proxies are bad. */
const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '30' }, only: { type: 'string', default: '' } },
})
const seconds = Number(values.seconds)
const DELAY_MS = 1_000
let missed = 0

const PACES = [
  { workers: 3, proxies: 10, bar: 500 },
  { workers: 10, proxies: 10, bar: null },
  { workers: 10, proxies: 50, bar: 1_500 },
  { workers: 20, proxies: 100, bar: 5_000 },
] as const

if (values.only !== 'bad') {
  console.log('workers  proxies  pages/min    at most  bar     too soon')
  for (const { workers, proxies, bar } of PACES) {
    const { pagesPerMinute, violations } = await runProxies({
      workers,
      proxies,
      delayMs: DELAY_MS,
      seconds,
      redis: true,
    })
    const most = (proxies * 60_000) / DELAY_MS
    const passed = violations === 0 && (bar === null ? pagesPerMinute <= most * 1.02 : pagesPerMinute >= bar)
    if (!passed) missed++
    const cells = [workers, proxies, pagesPerMinute, most, bar === null ? '-' : `>= ${bar}`, violations]
    console.log(`${cells.map((cell) => String(cell).padEnd(9)).join('')}${passed ? 'passed' : 'MISSED'}`)
  }
}
if (values.only !== 'pace') {
  const report = await runProxies({
    ...{ workers: 4, proxies: 20, dead: 6, banned: 4, delayMs: 100, seconds, redis: true },
  })
  const later = report.requests.slice(500)
  const share = later.filter((ok) => ok).length / Math.max(1, later.length)
  const tries = Math.max(...report.badTries)
  const passed = later.length > 0 && share >= 0.99 && tries <= 3 && report.failedAttempts === 0
  if (!passed) missed++
  console.log(`\n4 workers, 20 proxies: 6 dead, 4 refused by the site; ${report.requests.length} requests`)
  console.log(`after the first 500: ${(100 * share).toFixed(2)} % gave a page (bar 99)`)
  console.log(`tries of a bad proxy by the fleet, at most: ${tries} (bar 3; of each: ${report.badTries.join(' ')})`)
  console.log(
    `attempts burned: ${report.failedAttempts}, dead letters: ${report.deadLetters} ${passed ? 'passed' : 'MISSED'}`,
  )
}
process.exitCode = missed > 0 ? 1 : 0
