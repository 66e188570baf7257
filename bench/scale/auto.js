import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))
const SPIDER = fileURLToPath(new URL('./spider-one-host.js', import.meta.url))
/** One process needs twenty seconds for the first, and the second must last until all processes have been at work for a while. */
const PAGES = { one: 400, auto: 1_200 }
export const AUTO_SECONDS = 70

/** `shoal run` of CPU-bound pages with one process, and with as many as it decides to start. */
export async function measureAuto(site, task) {
  const one = await runOnce('1', PAGES.one, site, task)
  const auto = await runOnce('auto', PAGES.auto, site, task)
  return autoFigures(one, auto)
}

/**
 * From the times at which pages were handled, by process: how fast one process is, when the others came, and how fast all of them are from the first page
 * of the last one on.
 * @public for the test of the arithmetic
 */
export function autoFigures(one, auto) {
  const began = auto.reduce((earliest, times) => Math.min(earliest, times[0]), Number.POSITIVE_INFINITY)
  const lastCame = auto.reduce((latest, times) => Math.max(latest, times[0]), began)
  const rateSince = (processes, from) => {
    const times = processes.flat().filter((at) => at >= from)
    return ((times.length - 1) * 1_000) / Math.max(1, times.reduce((latest, at) => Math.max(latest, at), from) - from)
  }
  const [firstOfOne] = one[0]
  const onePerSecond = rateSince(one, firstOfOne)
  return {
    processes: auto.length,
    secondsUntilLast: (lastCame - began) / 1_000,
    onePagesPerMinute: onePerSecond * 60,
    allPagesPerMinute: rateSince(auto, lastCame) * 60,
    speedUp: rateSince(auto, lastCame) / onePerSecond,
    /** Over the whole crawl, the time with one process included. */
    speedUpOfCrawl: rateSince(auto, began) / onePerSecond,
  }
}

/** When the pages were handled, sorted, for each process. */
async function runOnce(workers, pages, site, task) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  try {
    await site.begin({ kind: 'cpu', pages, hosts: 1, proxies: 0 })
    const [origin] = site.originsOf(1)
    const seeds = join(dir, 'seeds.txt')
    writeFileSync(seeds, Array.from({ length: pages }, (_, nth) => `${origin}/cpu/${nth}\n`).join(''))
    const flags = ['--queue', `sqlite:${join(dir, 'bench.db')}`, '--seeds', seeds, '--workers', workers, '--json']
    await untilEnded([BIN, 'run', SPIDER, ...flags], { BENCH_TASK: JSON.stringify({ ...task, dir }) })
    const { missing, twice } = await site.report()
    if (missing + twice > 0)
      throw new Error(`run --workers ${workers}: ${missing} pages missing, ${twice} fetched again`)
    return readdirSync(dir)
      .filter((name) => name.endsWith('.log'))
      .map((name) => timesIn(readFileSync(join(dir, name), 'utf8')))
      .filter((times) => times.length > 0)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

function timesIn(text) {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => Number(line.split(' ')[1])).sort((one, other) => one - other)
}

function untilEnded(args, env) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  let errors = ''
  child.stderr.on('data', (data) => {
    errors = (errors + data).slice(-2_000)
  })
  return new Promise((resolve, reject) => {
    child.once('close', (code) => {
      process.off('exit', kill)
      if (code === 0) resolve()
      else reject(new Error(`shoal run ended with exit code ${code}: ${errors}`))
    })
  })
}
