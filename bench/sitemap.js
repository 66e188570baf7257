import { fork, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBackends } from '../dist/wire/backends.js'
import { median } from './measure.js'
import { printBars, round, table, versions } from './report.js'

const MIN_RATE = 0.5
/** Flat: ten times the URLs may need this much more memory at their peak. The queue's own cache fills with the first of them. */
const MAX_GROWTH = 1.25
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

/** `shoal start` on a sitemap, against the frontier's own `add`, in turns. */
export async function run({ pages = 1_000_000, rounds = 3, quick, json }) {
  const turns = quick ? 1 : rounds
  const site = await openSitemaps()
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const turnsDone = []
  try {
    // What is loaded and compiled once does not count against the first run.
    await seed(site, folder, 'index', 50_000)
    for (let turn = 0; turn < turns; turn++) {
      const add = JSON.parse(await output([here('./sitemap-add.js'), String(pages)])).seconds
      const small = await seed(site, folder, 'one', pages / 10)
      const one = await seed(site, folder, 'one', pages)
      const index = await seed(site, folder, 'index', pages)
      turnsDone.push({ add, small, one, index })
    }
    const resumed = await killed(site, folder, pages)
    return report({ pages, turnsDone, resumed, json })
  } finally {
    site.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function report({ pages, turnsDone, resumed, json }) {
  const of = (read) => median(turnsDone.map(read))
  const rate = (seconds, urls = pages) => urls / seconds
  const rows = [
    ['frontier.add alone', pages, of(({ add }) => rate(add)), null],
    ['one file', pages / 10, of(({ small }) => rate(small.seconds, pages / 10)), of(({ small }) => small.mb)],
    ['one file', pages, of(({ one }) => rate(one.seconds)), of(({ one }) => one.mb)],
    ['index of files of 50,000', pages, of(({ index }) => rate(index.seconds)), of(({ index }) => index.mb)],
  ]
  console.log(
    `\nSitemaps into the queue (SQLite), URLs per second and peak memory, median of ${turnsDone.length}\n${versions()}\n`,
  )
  console.log(
    table(
      ['what', 'URLs', 'URLs/s', 'peak MB'],
      rows.map(([what, urls, perSecond, mb]) => [
        what,
        `${urls}`,
        round(perSecond, 0),
        mb === null ? '' : round(mb, 0),
      ]),
    ),
  )
  console.log('')
  const ratio = of(({ add, one }) => add / one.seconds)
  const indexRatio = of(({ add, index }) => add / index.seconds)
  const growth = of(({ small, one }) => one.mb / small.mb)
  const passed = printBars([
    {
      text: `one file at least ${MIN_RATE} × the rate of add`,
      value: `${round(ratio, 2)} ×`,
      holds: ratio >= MIN_RATE,
    },
    {
      text: `an index at least ${MIN_RATE} × the rate of add`,
      value: `${round(indexRatio, 2)} ×`,
      holds: indexRatio >= MIN_RATE,
    },
    {
      text: `peak memory at most ${MAX_GROWTH} × that of a tenth`,
      value: `${round(growth, 2)} ×`,
      holds: growth <= MAX_GROWTH,
    },
    {
      text: 'kill -9 in the middle: the same command adds the rest, none twice',
      value: `${resumed.before} + ${resumed.added} = ${resumed.queued}, ${resumed.known} looked at again`,
      holds: resumed.queued === pages && resumed.before + resumed.added === pages && resumed.known <= 1_000,
    },
  ])
  if (json) console.log(JSON.stringify({ bench: 'sitemap', pages, ratio, indexRatio, growth, resumed }))
  return passed
}

/** Seconds from the first request for a sitemap to the last URL in the queue, and the peak of its memory. */
async function seed(site, folder, kind, urls) {
  const { args, forget } = command(site, folder, kind, urls)
  const child = start(args)
  let mb = 0
  const timer = setInterval(() => {
    mb = Math.max(mb, peakMb(child.pid))
  }, 100)
  const begun = await site.asked()
  const { code, stdout, stderr } = await ended(child)
  const seconds = (performance.now() - begun) / 1000
  clearInterval(timer)
  forget()
  const result = code === 0 ? JSON.parse(stdout.trim().split('\n').at(-1)) : {}
  if (result.added !== urls) throw new Error(`${result.added} of ${urls} URLs were added\n${stderr.slice(-1000)}`)
  return { seconds, mb }
}

async function killed(site, folder, urls) {
  const { args, queued, forget } = command(site, folder, 'one', urls)
  const first = start(args)
  const over = ended(first)
  while ((await queued()) < urls / 3 && first.exitCode === null)
    await new Promise((resolve) => setTimeout(resolve, 100))
  first.kill('SIGKILL')
  await over
  const before = await queued()
  const { stdout } = await ended(start(args))
  const { added, known } = JSON.parse(stdout.trim().split('\n').at(-1))
  const after = await queued()
  forget()
  return { before, added, known, queued: after }
}

function command(site, folder, kind, urls) {
  const spider = join(folder, 'spider.mjs')
  const database = join(folder, 'q.db')
  writeFileSync(
    spider,
    `import { defineSpider, sitemap } from 'shoal'
export default defineSpider({
  name: 'sitemap', scope: { hosts: ['*'] }, seeds: [sitemap('${site.origin}/${kind}/${urls}.xml')], robots: false,
  allowPrivate: ['127.0.0.1:*'], pace: { delay: 0 }, maxPending: ${10 * urls}, routes: { page: { match: '**' } },
})
`,
  )
  return {
    args: [here('../bin/shoal.js'), 'start', spider, '--queue', `sqlite:${database}`, '--json'],
    forget: () => {
      for (const end of ['', '-wal', '-shm']) rmSync(database + end, { force: true })
    },
    async queued() {
      const address = `sqlite:${database}`
      const backends = await openBackends({ queue: address, store: address })
      try {
        const [crawl] = (await backends.frontier.crawls()).filter((one) => one.spider === 'sitemap')
        return crawl === undefined ? 0 : (await backends.frontier.stats(crawl.id)).queued
      } finally {
        await backends.close()
      }
    },
  }
}

function start(args) {
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: process.env })
}

async function output(args) {
  const { code, stdout, stderr } = await ended(start(args))
  if (code !== 0) throw new Error(stderr.slice(-1000))
  return stdout
}

function ended(child) {
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (part) => {
    output.stdout += part
  })
  child.stderr.on('data', (part) => {
    output.stderr += part
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, ...output })))
}

/** From /proc: on systems without it the benchmark reports 0 and misses its target rather than guess. */
function peakMb(pid) {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

async function openSitemaps() {
  const child = fork(here('./sitemap-process.js'))
  const nextMessage = () => new Promise((resolve) => child.once('message', resolve))
  const { port } = await nextMessage()
  return {
    origin: `http://127.0.0.1:${port}`,
    /** Resolves when the next sitemap is requested. */
    async asked() {
      await nextMessage()
      return performance.now()
    },
    close: () => child.disconnect(),
  }
}
