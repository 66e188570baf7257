import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openHosts } from './hosts.js'
import { median } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { pathOf } from './site.js'

const HOSTS = 20
const CONCURRENCY = 64
const SLOW_MS = 20_000
const MOST = 0.05
/** Pages of each bad host that wait from the beginning. */
const WAITING = 40
/** Kernel ticks per second. */
const TICKS = 100

/** Healthy hosts with and without a host that hangs and one that takes 20 s. */
export async function run({ pages = 30_000, rounds = 5, json }) {
  const each = Math.ceil(pages / HOSTS)
  const site = await openHosts()
  const samples = { without: [], with: [] }
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      for (const name of nth % 2 === 1 ? ['without', 'with'] : ['with', 'without']) {
        const sample = await crawl(name, site, each)
        samples[name].push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(7)} ${round(sample.cpuPer1k, 3)} CPU s per 1,000 pages, ${round(sample.seconds, 1)} s; ` +
            `connections left hanging ${sample.bad.hung}, slow answers ${sample.bad.slow}`,
        )
      }
    }
  } finally {
    site.close()
  }

  const { without } = samples
  const pairs = without.map((healthy, nth) => [healthy, samples.with[nth]])
  const change = (key) => median(pairs.map(([healthy, troubled]) => troubled[key] / healthy[key] - 1))
  const moved = median(pairs.map(([healthy, troubled]) => displacement(healthy.order, troubled.order)))
  // Two crawls without bad hosts differ as well; the crawls of neighbouring rounds show by how much.
  const neighbours = without.slice(1).map((healthy, nth) => displacement(without[nth].order, healthy.order))
  const noise = neighbours.length === 0 ? 0 : median(neighbours)
  const middle = (name, key) => median(samples[name].map((one) => one[key]))
  console.log(
    `\n${HOSTS} hosts of ${each} pages, ${CONCURRENCY} at once, median of ${rounds} alternations; one more host hangs and one takes ${SLOW_MS / 1_000} s, or not\n${versions()}\n`,
  )
  console.log(
    table(
      ['bad hosts', 'CPU s / 1,000', 'seconds', 'until a host is done'],
      ['without', 'with'].map((name) => [
        name,
        middle(name, 'cpuPer1k').toFixed(3),
        round(middle(name, 'seconds'), 1),
        round(middle(name, 'hostSeconds'), 1),
      ]),
    ),
  )
  console.log(
    `\ntime until the last healthy page: ${percent(change('seconds'))}; until a host was done, on average: ${percent(change('hostSeconds'))}`,
  )
  console.log(
    `order: moved by ${percent(moved)} of the crawl, between two crawls without bad hosts by ${neighbours.length === 0 ? 'an unknown share (run a second round)' : percent(noise)}\n`,
  )
  const cpu = change('cpuPer1k')
  const passed = printBars([
    {
      text: `CPU of a healthy page changes by less than ${percent(MOST)}`,
      value: percent(cpu),
      holds: Math.abs(cpu) < MOST,
    },
    {
      text: `order of the healthy pages changes by less than ${percent(MOST)}`,
      value: percent(moved - noise),
      holds: moved - noise < MOST,
    },
  ])
  if (json) {
    const figures = { cpu, moved, noise, seconds: change('seconds'), hostSeconds: change('hostSeconds') }
    const rounded = Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, round(value, 4)]))
    console.log(JSON.stringify({ bench: 'slow-hosts', ...rounded }))
  }
  return passed
}

/** From the first request for a healthy page to the last response; what the bad hosts still owe then is not waited for. */
async function crawl(name, site, pages) {
  const { origins, badOrigins } = await site.begin({ hosts: HOSTS, pages, ...(name === 'with' && { slowMs: SLOW_MS }) })
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const database = `sqlite:${join(dir, 'bench.db')}`
  const waiting = Array.from({ length: Math.min(pages, WAITING) }, (_, index) => pathOf(index))
  const task = { origin: origins[0], concurrency: CONCURRENCY, origins, badOrigins, pages: waiting }
  const first = site.first()
  const last = site.last()
  const file = (path) => fileURLToPath(new URL(path, import.meta.url))
  const child = spawn(
    process.execPath,
    [
      ...[file('../bin/shoal.js'), 'run', file('./spider-hosts.js'), '--queue', database, '--store', database],
      ...['--concurrency', String(CONCURRENCY), '--json'],
    ],
    { stdio: 'ignore', env: { ...process.env, BENCH_TASK: JSON.stringify(task) } },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  const early = ended.then((code) => {
    throw new Error(`the crawl ended with exit code ${code} before the healthy pages were fetched`)
  })
  try {
    await Promise.race([first, early])
    const before = cpuSeconds(child.pid)
    await Promise.race([last, early])
    const used = cpuSeconds(child.pid) - before
    const { order, bad, seconds } = await site.report(name)
    if (name === 'with' && bad.hung === 0) throw new Error('the host that hangs was never asked')
    const doneAt = new Map(order)
    return {
      cpuPer1k: (used / order.length) * 1_000,
      seconds,
      hostSeconds: [...doneAt.values()].reduce((sum, ms) => sum + ms, 0) / doneAt.size / 1_000,
      order: order.map(([host]) => host),
      bad,
    }
  } finally {
    early.catch(() => {})
    child.kill('SIGKILL')
    await ended
    rmSync(dir, { recursive: true, force: true })
  }
}

/** All threads of a process. */
function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS
}

/** By how many positions the n-th page of each host came earlier or later, on average, as a share of all positions. */
function displacement(one, other) {
  const places = placesByHost(other)
  const nth = new Map()
  let sum = 0
  for (const [place, host] of one.entries()) {
    const count = nth.get(host) ?? 0
    nth.set(host, count + 1)
    sum += Math.abs(places.get(host)[count] - place)
  }
  return sum / one.length / one.length
}

function placesByHost(order) {
  const places = new Map()
  for (const [place, host] of order.entries()) {
    if (!places.has(host)) places.set(host, [])
    places.get(host).push(place)
  }
  return places
}

function percent(share) {
  return `${round(share * 100, 1)} %`
}
