import { availableParallelism, cpus, totalmem } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { printBars, round, table, versions } from './report.js'
import { AUTO_SECONDS, measureAuto } from './scale/auto.js'
import { stepsFor } from './scale/burn.js'
import { autoBar, barsOf, figuresOf, KIND_NAMES, nameOf } from './scale/figures.js'
import { startFleet } from './scale/fleet.js'
import { openScaleSite } from './scale/helpers.js'
import {
  ANSWER_MS,
  CONCURRENCY,
  HANDLER_MS,
  MIXED_EVERY,
  PROXY_DELAY_MS,
  perHost,
  planFleets,
  secondsOf,
} from './scale/plan.js'

const CHECK_MS = 500
/** A cell may take this many times as long as it should before it is given up. */
const PATIENCE = 6
/** Pages in flight of a crawl that was cancelled are waited for this long. */
const CANCEL_S = 30

const GROUPS = ['cpu', 'io', 'mixed', 'sqlite', 'proxies', 'auto']

/** Pages per minute by workers, hosts and proxies. `only` takes GROUPS. */
export async function run({ only, quick, json }) {
  const cores = availableParallelism()
  const fleets = chosen(planFleets({ quick, cores }), only)
  const withAuto = only === undefined ? !quick : only.includes('auto')
  const autoSeconds = withAuto ? AUTO_SECONDS : 0
  console.error(`about ${minutes(secondsOf(fleets, cores) + autoSeconds)}, with nothing else running on this machine`)
  const site = await openScaleSite()
  const task = { steps: stepsFor(HANDLER_MS), allowed: site.origins.map((origin) => new URL(origin).host) }
  const all = []
  const failed = []
  let auto = null
  try {
    for (const [nth, fleet] of fleets.entries()) {
      const left = minutes(secondsOf(fleets.slice(nth), cores) + autoSeconds)
      console.error(`fleet ${nth + 1} of ${fleets.length}, ${left} left: ${describeFleet(fleet)}`)
      // The figures of the other fleets are worth having.
      await runFleet(fleet, site, task, all, cores).catch((error) => {
        failed.push(describeFleet(fleet))
        console.error(`  ${error.message}`)
      })
    }
    if (withAuto) {
      console.error(`run --workers auto, ${minutes(autoSeconds)} left`)
      auto = await measureAuto(site, task)
    }
  } finally {
    site.close()
  }
  if (all.length > 0) print(all, cores)
  if (auto !== null) printAuto(auto)
  const passed = printBars([
    ...barsOf(all, cores),
    ...(auto === null ? [] : autoBar(auto, cores)),
    ...(failed.length === 0 ? [] : [{ text: 'every fleet ran to its end', value: failed.join('; '), holds: false }]),
  ])
  if (json) console.log(JSON.stringify({ bench: 'scale', cores, cells: all, auto }))
  return passed
}

function chosen(fleets, only) {
  if (only === undefined) return fleets
  const groupOf = ({ kind, queue, proxies }) => (proxies > 0 ? 'proxies' : queue === 'sqlite' ? 'sqlite' : kind)
  const unknown = only.filter((name) => !GROUPS.includes(name))
  if (unknown.length > 0) throw new Error(`--only knows ${GROUPS.join(', ')}, not ${unknown}`)
  return fleets
    .map((fleet) => ({ ...fleet, cells: fleet.cells.filter((cell) => only.includes(groupOf(cell))) }))
    .filter(({ cells }) => cells.length > 0)
}

async function runFleet(plan, site, task, all, cores) {
  const fleet = await startFleet(plan, task)
  try {
    for (const cell of plan.cells) {
      const measured = await runCell(cell, fleet, site)
      const one = all.find(
        (other) =>
          other.workers === 1 && other.kind === cell.kind && other.hosts === cell.hosts && other.queue === cell.queue,
      )
      const figures = figuresOf({ cell, measured, one: cell.proxies > 0 ? undefined : one, cores })
      all.push(figures)
      const { min, max } = figures.spread
      const faults = figures.faults.map((fault) => `; ${fault}`).join('')
      console.error(
        `  ${nameOf(cell)}: ${Math.round(figures.pagesPerMinute)} pages/min, ${min} to ${max} pages per worker${faults}`,
      )
    }
  } finally {
    await fleet.close()
  }
}

async function runCell(cell, fleet, site) {
  const origins = site.originsOf(cell.hosts)
  const urls = Array.from({ length: cell.pages }, (_, nth) => `${origins[nth % origins.length]}/${cell.kind}/${nth}`)
  await site.begin(cell)
  const redisBefore = await fleet.redisUs()
  const proxiesBefore = fleet.proxyCpuS()
  const crawl = await fleet.crawl(cell, urls)
  const finished = await untilFinished(crawl, cell.seconds * PATIENCE)
  const redisUs = redisBefore === null ? null : (await fleet.redisUs()) - redisBefore
  const { kind: _, ...seen } = await site.report()
  const handled = fleet.handled()
  const numbers = handled.flat().map(([nth]) => nth)
  return {
    ...seen,
    finished,
    redisUs,
    siteCpuS: seen.siteCpuS + fleet.proxyCpuS() - proxiesBefore,
    pagesByWorker: handled.map((lines) => lines.length),
    handledTwice: numbers.length - new Set(numbers).size,
    lastHandledAt: handled.flat().reduce((latest, [, at]) => Math.max(latest, at), 0),
  }
}

/** False if the crawl took too long; it is cancelled then, and the next cell begins when nothing of it is in flight any more. */
async function untilFinished(crawl, seconds) {
  const until = async (holds, forSeconds) => {
    const deadline = performance.now() + forSeconds * 1_000
    while (!holds(await crawl.stats())) {
      if (performance.now() > deadline) return false
      await sleep(CHECK_MS)
    }
    return true
  }
  if (await until(({ state }) => state === 'finished', seconds)) return true
  await crawl.cancel()
  await until(({ leased }) => leased === 0, CANCEL_S)
  return false
}

function print(all, cores) {
  const [cpu] = cpus()
  console.log(
    `\n${cores} cores (${cpu?.model.trim() ?? 'unknown'}), ${round(totalmem() / 2 ** 30, 0)} GB; site, proxies, queue and workers share them\n${versions()}`,
  )
  console.log(
    `CPU-bound: ${HANDLER_MS} ms in the handler. I/O-bound: answers take ${ANSWER_MS} ms. Mixed: those answers, and every ${MIXED_EVERY}th page computes ${HANDLER_MS} ms.\n` +
      `Each worker is a process of its own, ${CONCURRENCY} pages at once at most; ${perHost(1)} requests at once to a single host, ${perHost(20)} per host to several; ` +
      `through a proxy one request every ${PROXY_DELAY_MS / 1_000} s.\n`,
  )
  const head = [
    ...['pages', 'hosts', 'workers', 'proxies', 'pages/min', '× one', 'of possible', 'limited by'],
    ...['per worker: fewest', 'mean', 'most', 'Redis µs/page', 'site, cores'],
  ]
  const rows = all
    .toSorted(bySite)
    .map((cell) => [
      `${KIND_NAMES[cell.kind]}${cell.queue === 'sqlite' ? ', SQLite queue' : ''}`,
      cell.hosts,
      cell.workers,
      cell.proxies || '–',
      Math.round(cell.pagesPerMinute).toLocaleString('en'),
      cell.speedUp === null ? '–' : cell.speedUp.toFixed(2),
      cell.efficiency === null ? '–' : `${Math.round(cell.efficiency * 100)} %`,
      cell.limitedBy,
      cell.spread.min,
      Math.round(cell.spread.mean),
      cell.spread.max,
      cell.redisUsPerPage === null ? '–' : Math.round(cell.redisUsPerPage),
      cell.siteCores.toFixed(2),
    ])
  console.log(table(head, rows))
  console.log('')
}

function printAuto({ processes, secondsUntilLast, onePagesPerMinute, allPagesPerMinute, speedUpOfCrawl }) {
  const others =
    processes === 1
      ? 'no other process was started'
      : `${processes} processes after ${round(secondsUntilLast, 1)} s, then ${Math.round(allPagesPerMinute)} pages/min`
  console.log(
    `run --workers auto, CPU-bound, 1 host, SQLite: ${Math.round(onePagesPerMinute)} pages/min with one process; ${others}; ` +
      `${round(speedUpOfCrawl)} × over the whole crawl\n`,
  )
}

/** People compare the workers of one site, so those rows are next to each other. */
function bySite(one, other) {
  const key = ({ queue, proxies, kind, hosts, workers }) =>
    [proxies > 0, queue === 'sqlite', Object.keys(KIND_NAMES).indexOf(kind), hosts, workers].map(Number)
  const places = key(other)
  return (
    key(one)
      .map((part, nth) => part - places[nth])
      .find((difference) => difference !== 0) ?? 0
  )
}

function describeFleet({ workers, proxies, queue }) {
  const through = proxies > 0 ? `, ${proxies} proxies` : ''
  return `${workers} worker process${workers === 1 ? '' : 'es'} on ${queue === 'redis' ? 'Redis' : 'SQLite'}${through}`
}

function minutes(seconds) {
  return seconds < 180 ? `${Math.round(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}
