import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { countCalls } from './frontier/count-calls.js'
import { startRedis } from './frontier/redis-server.js'
import { openHosts } from './hosts.js'
import { median } from './measure.js'
import { printBars, round, table, versions } from './report.js'

const HOSTS = 100
const DELAY = '250ms'
const ANSWER_MS = [100, 500]
const CONCURRENCY = 64
/** CPU of Redis for one of the worker: half of the 0.29 that it was when every call of a worker cost Redis 200 µs and carried two or three links. */
const MOST_SHARE = 0.145
/** Kernel ticks per second. */
const TICKS = 100

/** A polite crawl of many hosts: few links a call, so the fixed cost of a call is what Redis pays. */
export async function run({ pages = 6_000, rounds = 3, json }) {
  const each = Math.ceil(pages / HOSTS)
  const site = await openHosts()
  const samples = []
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      const sample = await crawl(site, each)
      samples.push(sample)
      console.error(`round ${nth} of ${rounds}  ${describe(sample)}`)
    }
  } finally {
    site.close()
  }
  const middle = (key, digits) => round(median(samples.map((sample) => sample[key])), digits)
  const kinds = [...new Set(samples.flatMap(({ calls }) => Object.keys(calls)))]
  const calls = Object.fromEntries(
    kinds.map((kind) => [kind, round(median(samples.map((sample) => sample.calls[kind] ?? 0)), 3)]),
  )
  const figures = {
    redisUsPerPage: middle('redisUsPerPage', 0),
    workerUsPerPage: middle('workerUsPerPage', 0),
    pagesPerSecond: middle('pagesPerSecond', 1),
    calls,
  }
  console.log(
    `\n${HOSTS} hosts of ${each} pages, ${DELAY} between requests to a host, answers in ${ANSWER_MS.join('–')} ms, ${CONCURRENCY} at once, median of ${rounds} rounds\n${versions()}\n`,
  )
  console.log(
    table(
      ['pages/s', 'Redis µs/page', 'worker µs/page'],
      [[figures.pagesPerSecond, figures.redisUsPerPage, figures.workerUsPerPage]],
    ),
  )
  const often = Object.entries(calls).filter(([, number]) => number >= 0.001)
  console.log(
    `\n${table(
      ['call', 'a page'],
      often.sort(([, a], [, b]) => b - a),
    )}\n`,
  )
  const share = figures.redisUsPerPage / figures.workerUsPerPage
  const passed = printBars([
    {
      text: `CPU of Redis, at most ${MOST_SHARE} × that of the worker`,
      value: `${round(share, 3)} ×`,
      holds: share <= MOST_SHARE,
    },
  ])
  if (json) console.log(JSON.stringify({ bench: 'polite', ...figures }))
  return passed
}

/** From the first request for a page to the last response: starting and ending are not part of it. */
async function crawl(site, pages) {
  const server = await startRedis()
  const counted = await countCalls(server.port)
  const { origins } = await site.begin({ hosts: HOSTS, pages, answerMs: ANSWER_MS })
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const task = { origin: origins[0], concurrency: CONCURRENCY, origins, delay: DELAY }
  const first = site.first()
  const last = site.last()
  const file = (path) => fileURLToPath(new URL(path, import.meta.url))
  const child = spawn(
    process.execPath,
    [
      ...[file('../bin/shoal.js'), 'run', file('./spider-hosts.js'), '--queue', counted.url],
      ...['--store', `sqlite:${join(dir, 'bench.db')}`, '--concurrency', String(CONCURRENCY), '--json'],
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, BENCH_TASK: JSON.stringify(task) } },
  )
  const ended = new Promise((resolve) => child.once('close', resolve))
  const early = ended.then((code) => {
    throw new Error(`the crawl ended with exit code ${code} before all pages were fetched`)
  })
  const reading = async () => ({
    redisUs: await server.cpuUs(),
    workerUs: cpuUs(child.pid),
    calls: counted.counts(),
  })
  try {
    await Promise.race([first, early])
    const before = await reading()
    await Promise.race([last, early])
    const after = await reading()
    const { order, seconds } = await site.report('the polite crawl')
    const all = order.length
    return {
      redisUsPerPage: (after.redisUs - before.redisUs) / all,
      workerUsPerPage: (after.workerUs - before.workerUs) / all,
      pagesPerSecond: all / seconds,
      calls: Object.fromEntries(
        [...after.calls].map(([kind, number]) => [kind, (number - (before.calls.get(kind) ?? 0)) / all]),
      ),
    }
  } finally {
    early.catch(() => {})
    child.kill('SIGKILL')
    await ended
    counted.close()
    await server.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** All threads of a process. */
function cpuUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1e6
}

function describe({ redisUsPerPage, workerUsPerPage, pagesPerSecond, calls }) {
  const often = ['lease', 'release', 'settle', 'permit'].map((kind) => `${kind} ${round(calls[kind] ?? 0, 2)}`)
  return `${round(pagesPerSecond, 1)} pages/s, µs a page: Redis ${round(redisUsPerPage, 0)}, worker ${round(workerUsPerPage, 0)}; calls a page: ${often.join(', ')}`
}
