import { limitOf, ONE_WORKER } from './plan.js'

/** An even share is the mean; a worker may be this much above or below it. */
const MOST_UNEVEN = 0.3
/** A worker with less than this part of an even share was idle. */
const IDLE_BELOW = 0.5
const CPU_SPEED_UP = 1.8

/**
 * How evenly the pages went to the workers: the fewest, the mean and the most of one worker, and how far the farthest is from the mean, as a share of it.
 * @public for the test of the arithmetic
 */
export function spreadOf(pagesByWorker) {
  const mean = pagesByWorker.reduce((sum, pages) => sum + pages, 0) / pagesByWorker.length
  const min = Math.min(...pagesByWorker)
  const max = Math.max(...pagesByWorker)
  return { min, mean, max, uneven: mean === 0 ? 1 : Math.max(max - mean, mean - min) / mean }
}

/**
 * The figures of a cell. `one`: the same cell with one worker on the same queue; undefined if it was not run. Time is from the first request at the site
 * to the last handler that ended: with pages that compute, the last response comes long before.
 */
export function figuresOf({ cell, measured, one, cores }) {
  const { pagesByWorker, firstRequestAt, lastHandledAt } = measured
  const pagesPerSecond = (cell.pages * 1_000) / Math.max(1, lastHandledAt - firstRequestAt)
  const reference = cell.workers === 1 ? pagesPerSecond : one?.pagesPerSecond
  // Proxies allow so little that the rate of one worker does not matter.
  const known = cell.proxies > 0 ? Number.POSITIVE_INFINITY : reference
  return {
    ...cell,
    pagesPerSecond,
    pagesPerMinute: pagesPerSecond * 60,
    speedUp: reference === undefined ? null : pagesPerSecond / reference,
    /** Share of what the workers, the hosts, the cores and the proxies allow. */
    efficiency: known === undefined ? null : pagesPerSecond / limitOf(cell, { one: known, cores }).pagesPerSecond,
    limitedBy: limitOf(cell, { one: ONE_WORKER[cell.kind], cores }).by,
    spread: spreadOf(pagesByWorker),
    redisUsPerPage: measured.redisUs === null ? null : measured.redisUs / cell.pages,
    siteCores: (measured.siteCpuS * 1_000) / Math.max(1, lastHandledAt - firstRequestAt),
    faults: faultsOf(measured),
  }
}

/** What makes a figure worthless, in words; none if the cell was fetched as it should. */
function faultsOf({ finished, missing, twice, handledTwice, strangers, overlaps, shortGaps }) {
  const counted = [
    [missing, 'pages missing'],
    [twice, 'pages fetched again'],
    [handledTwice, 'pages handled again'],
    [strangers, 'requests for unknown pages'],
    [overlaps, 'requests over the limit of their host'],
    [shortGaps, 'gaps shorter than nine tenths of the delay'],
  ]
  return [
    ...(finished ? [] : ['did not finish in time']),
    ...counted.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`),
  ]
}

/** The targets, over all cells that were run; one whose cells were left out is left out too. */
export function barsOf(all, cores) {
  const bars = []
  const worst = (cells, key) => cells.reduce((least, cell) => (key(cell) < key(least) ? cell : least))
  const add = (cells, { text, key, show, holds }) => {
    if (cells.length === 0) return
    const cell = worst(cells, key)
    bars.push({ text, value: `${show(cell)} (${nameOf(cell)})`, holds: holds(cell) })
  }
  const shared = all.filter(({ workers, proxies }) => workers > 1 && proxies === 0)
  const percent = (share) => `${Math.round(share * 100)} %`
  if (cores >= 2)
    add(
      shared.filter(({ kind, workers }) => kind === 'cpu' && workers === 2),
      {
        text: `CPU-bound, 2 workers: at least ${CPU_SPEED_UP} × one worker`,
        key: ({ speedUp }) => speedUp ?? 0,
        show: ({ speedUp }) => `${(speedUp ?? 0).toFixed(2)} ×`,
        holds: ({ speedUp }) => (speedUp ?? 0) >= CPU_SPEED_UP,
      },
    )
  add(
    shared.filter(({ kind }) => kind === 'io'),
    {
      text: `I/O-bound: every worker within ± ${percent(MOST_UNEVEN)} of an even share`,
      key: ({ spread }) => -spread.uneven,
      show: ({ spread }) => `± ${percent(spread.uneven)}`,
      holds: ({ spread }) => spread.uneven <= MOST_UNEVEN,
    },
  )
  add(
    shared.filter(({ hosts, workers }) => hosts === 200 && workers === 8),
    {
      text: `200 hosts, 8 workers: none idle, each with at least ${percent(IDLE_BELOW)} of an even share`,
      key: ({ spread }) => spread.min / spread.mean,
      show: ({ spread }) => percent(spread.min / spread.mean),
      holds: ({ spread }) => spread.min >= IDLE_BELOW * spread.mean,
    },
  )
  add(
    all.filter(({ workers }) => workers > 1),
    {
      text: 'never a worker without a page',
      key: ({ spread }) => spread.min,
      show: ({ spread }) => `fewest ${spread.min}`,
      holds: ({ spread }) => spread.min > 0,
    },
  )
  if (all.length === 0) return bars
  const faulty = all.filter(({ faults }) => faults.length > 0)
  bars.push({
    text: 'every page fetched and handled once, within the limits of its host and proxy, by the log of the site',
    value: faulty.length === 0 ? 'yes' : faulty.map((cell) => `${nameOf(cell)}: ${cell.faults.join(', ')}`).join('; '),
    holds: faulty.length === 0,
  })
  return bars
}

/** Of `run --workers auto`, from the moment when all its processes are there. */
export function autoBar({ processes, speedUp }, cores) {
  if (cores < 2) return []
  return [
    {
      text: `run --workers auto, CPU-bound: at least ${CPU_SPEED_UP} × one process on 2 cores`,
      value: `${speedUp.toFixed(2)} × with ${processes} ${processes === 1 ? 'process' : 'processes'}`,
      holds: speedUp >= CPU_SPEED_UP,
    },
  ]
}

export const KIND_NAMES = { cpu: 'CPU-bound', io: 'I/O-bound', mixed: 'mixed' }

export function nameOf({ kind, hosts, workers, proxies, queue }) {
  const plural = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`
  const through = proxies > 0 ? `, ${proxies} proxies` : ''
  return `${KIND_NAMES[kind]}, ${plural(hosts, 'host')}, ${plural(workers, 'worker')}${through}${queue === 'sqlite' ? ', SQLite' : ''}`
}
