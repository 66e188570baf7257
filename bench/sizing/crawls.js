import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { countCalls } from '../frontier/count-calls.js'
import { startRedis } from '../frontier/redis-server.js'
import { openHosts } from '../hosts.js'
import { passThrough } from '../pass-through.js'
import { serverCpuUs, startServer } from '../store/server.js'

const CONCURRENCY = 64
/** Kernel ticks per second. */
const TICKS = 100

/** As fast as one worker can, over twenty hosts; politely, with 250 ms between requests to each of a hundred. */
const CRAWLS = {
  rules: { hosts: 20, pages: 12_000, delay: '0ms', answerMs: [0, 0] },
  handler: { hosts: 20, pages: 6_000, delay: '0ms', answerMs: [0, 0], tree: true },
  polite: { hosts: 100, pages: 5_000, delay: '250ms', answerMs: [100, 500] },
}

/** Each crawl by one worker process, with its queue in Redis and its records in Postgres: what a page costs everybody, by name. */
export async function measureCrawls() {
  const site = await openHosts()
  const postgres = await startServer()
  const measured = {}
  try {
    for (const [name, crawl] of Object.entries(CRAWLS)) {
      measured[name] = await measureCrawl(crawl, { site, postgres })
      console.error(`${name}  ${describe(measured[name])}`)
    }
  } finally {
    site.close()
    await postgres.end()
  }
  return measured
}

/** From the first request for a page to the last response: starting and ending are not part of it. */
async function measureCrawl({ hosts, pages, delay, answerMs, tree }, { site, postgres }) {
  const redis = await startRedis()
  const queue = await countCalls(redis.port)
  const store = await passThrough(postgres.port)
  const { origins } = await site.begin({ hosts, pages: Math.ceil(pages / hosts), answerMs })
  const database = new URL(await postgres.createDatabase())
  database.port = String(store.port)
  const task = { origin: origins[0], concurrency: CONCURRENCY, origins, delay, tree }
  const first = site.first()
  const last = site.last()
  const file = (path) => fileURLToPath(new URL(path, import.meta.url))
  const child = spawn(
    process.execPath,
    [
      ...[
        file('../../bin/shoal.js'),
        'run',
        file('../spider-hosts.js'),
        '--queue',
        queue.url,
        '--store',
        database.href,
      ],
      ...['--workers', '1', '--concurrency', String(CONCURRENCY), '--json'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, BENCH_TASK: JSON.stringify(task) } },
  )
  let errors = ''
  child.stderr.on('data', (part) => {
    errors = (errors + part).slice(-2_000)
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const early = ended.then((code) => {
    throw new Error(`the crawl ended with exit code ${code} before all pages were fetched\n${errors}`)
  })
  const reading = async () => ({
    workerUs: workerCpuUs(child.pid),
    redisUs: await redis.cpuUs(),
    postgresUs: serverCpuUs(postgres.pid),
    calls: [...queue.counts().values()].reduce((sum, count) => sum + count, 0),
    redisBytes: queue.bytes(),
    postgresBytes: store.bytes(),
  })
  try {
    await Promise.race([first, early])
    const before = await reading()
    await Promise.race([last, early])
    const after = await reading()
    const memoryBytes = peakMemory(child.pid)
    const { order, seconds } = await site.report('the crawl')
    const perPage = Object.fromEntries(
      Object.keys(after).map((key) => [`${key}PerPage`, (after[key] - before[key]) / order.length]),
    )
    return { ...perPage, startUs: before.workerUs, memoryBytes, pagesPerSecond: order.length / seconds }
  } finally {
    early.catch(() => {})
    child.kill('SIGKILL')
    await ended
    queue.close()
    store.close()
    await redis.close()
  }
}

/** All threads of the process. */
function workerCpuUs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1e6
}

function peakMemory(pid) {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024
}

function describe({ pagesPerSecond, workerUsPerPage, redisUsPerPage, postgresUsPerPage, callsPerPage }) {
  const whole = (number) => Math.round(number)
  return `${whole(pagesPerSecond)} pages/s; µs a page: worker ${whole(workerUsPerPage)}, Redis ${whole(redisUsPerPage)}, Postgres ${whole(postgresUsPerPage)}; ${callsPerPage.toFixed(2)} calls a page`
}
