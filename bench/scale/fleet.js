import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { connect } from '../../dist/index.js'
import { startRedis } from '../frontier/redis-server.js'
import { openProxies } from './helpers.js'
import { CONCURRENCY } from './plan.js'

const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))
const READY_MS = 240_000
const STOP_MS = 20_000

const spiderFile = (name) => fileURLToPath(new URL(`./spider-${name}.js`, import.meta.url))
const spiderOf = ({ hosts, proxies }) => spiderFile(proxies > 0 ? 'proxied' : hosts === 1 ? 'one-host' : 'many-hosts')

/** Worker processes as a user starts them, on a new queue. They are idle: each has asked for work and got none. */
export async function startFleet({ queue, workers, proxies }, task) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const redis = queue === 'redis' ? await startRedis() : null
  const pool = proxies > 0 ? await openProxies(proxies) : null
  // The spiders of the workers and of this process read it.
  process.env.BENCH_TASK = JSON.stringify({ ...task, dir })
  const store = `sqlite:${join(dir, 'bench.db')}`
  const places = { queue: redis?.url ?? store, store }
  const spiders = proxies > 0 ? ['proxied'] : ['one-host', 'many-hosts']
  const flags = ['--queue', places.queue, '--store', store, '--concurrency', String(CONCURRENCY)]
  if (pool !== null) {
    const file = join(dir, 'pools.json')
    writeFileSync(file, JSON.stringify({ bench: { entries: pool.urls } }))
    flags.push('--proxies', file)
  }
  const children = []
  const kill = () => {
    for (const { child } of children) child.kill('SIGKILL')
  }
  process.once('exit', kill)
  const shoal = await connect({ ...places, logLevel: 'error' })
  const close = async () => {
    await shoal.close()
    for (const { child } of children) child.kill('SIGTERM')
    const all = Promise.all(children.map(({ ended }) => ended))
    await Promise.race([all, sleep(STOP_MS, undefined, { ref: false })])
    kill()
    await all
    process.off('exit', kill)
    pool?.close()
    await redis?.close()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await startAll(shoal, children, workers, [...spiders.map(spiderFile), ...flags])
  } catch (error) {
    await close()
    throw error
  }
  const logs = children.map(({ child }) => ({ file: join(dir, `${child.pid}.log`), from: 0 }))
  return {
    redisUs: async () => (redis === null ? null : redis.cpuUs()),
    proxyCpuS: () => pool?.cpuSeconds() ?? 0,
    /** Opens a crawl of these pages; they are complete. */
    async crawl(cell, urls) {
      const crawl = await shoal.crawl(spiderOf(cell), { fresh: true, start: false })
      const { added } = await crawl.add(urls)
      if (added !== urls.length) throw new Error(`only ${added} of ${urls.length} pages were accepted by the queue`)
      await crawl.seal()
      return crawl
    },
    /** The pages that each worker has handled since the last call: their numbers, and when. */
    handled: () => logs.map(newLines),
    close,
  }
}

function startWorker(args) {
  const child = spawn(process.execPath, [BIN, 'worker', ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (data) => {
    errors = (errors + data).slice(-2_000)
  })
  return { child, ended: new Promise((resolve) => child.once('close', resolve)), errors: () => errors }
}

/**
 * One for each core at a time: twenty that load at once on two cores run into the timeouts of their first calls. The queue knows a worker from its first
 * call on.
 */
async function startAll(shoal, children, workers, args) {
  const deadline = performance.now() + READY_MS
  for (;;) {
    const ready = (await shoal.frontier.workers()).length
    if (ready >= workers) return
    const dead = children.find(({ child }) => child.exitCode !== null || child.signalCode !== null)
    if (dead !== undefined) throw new Error(`a worker ended: ${dead.errors()}`)
    if (performance.now() > deadline) throw new Error(`only ${ready} workers were ready after ${READY_MS / 1_000} s`)
    while (children.length < Math.min(workers, ready + availableParallelism())) children.push(startWorker(args))
    await sleep(250)
  }
}

function newLines(log) {
  const text = readFileSync(log.file, 'utf8')
  const lines = text.slice(log.from).trim()
  log.from = text.length
  return lines === '' ? [] : lines.split('\n').map((line) => line.split(' ').map(Number))
}
