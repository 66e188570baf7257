import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { judgeAddress, judgeUrl } from '../dist/fetch/guard.js'
import { verdictOfAnswer } from '../dist/proxy/verdict.js'
import { openHosts } from './hosts.js'
import { median } from './measure.js'
import { printBars, round, table, versions } from './report.js'
import { runShoal } from './shoal.js'
import { pageHtml, pathOf } from './site.js'

const CONCURRENCY = 64
const MOST = 0.1
const PROXIES = 10
const MANY_HOSTS = 64

const ONE_HOST = {
  hosts: 1,
  pace: { delay: '0ms', concurrency: CONCURRENCY, adaptive: false },
  robots: false,
  out: null,
}
/** A pace adapts a delay, so there must be one; 64 hosts allow 2,560 pages per second, more than can be fetched. */
const PACED = { hosts: MANY_HOSTS, pace: { delay: '25ms', concurrency: 4, adaptive: false }, robots: false, out: null }
/** The delay is computed for every start and stays the same: both crawls do the same work. */
const ADAPTIVE = { target: 1_000, maxDelay: '10s' }

/** `base`: what the crawl is compared with. */
const CRAWLS = {
  none: { ...ONE_HOST, base: null, what: 'robots, proxies and adaptive pace off' },
  robots: { ...ONE_HOST, robots: true, base: 'none', what: 'robots check' },
  ledger: { ...ONE_HOST, out: 'ledger', base: 'none', what: 'ledger of proxies, one option' },
  pool: { ...ONE_HOST, out: 'pool', base: 'none', what: `choice of ${PROXIES} proxies, judged responses` },
  all: { ...ONE_HOST, robots: true, out: 'pool', base: 'none', what: 'robots check and choice of proxies' },
  paced: { ...PACED, base: null, what: `none, ${MANY_HOSTS} hosts with a delay` },
  adaptive: { ...PACED, pace: { ...PACED.pace, adaptive: ADAPTIVE }, base: 'paced', what: 'adaptive pace' },
}

/** What the features add to the CPU of a page of the embedded crawl, without startup. */
export async function run({ pages = 10_000, rounds = 5, only, json }) {
  const names = Object.keys(CRAWLS).filter((name) => only === undefined || only.includes(name))
  const samples = new Map(names.map((name) => [name, []]))
  const hosts = await openHosts()
  try {
    for (let nth = 1; nth <= rounds; nth++) {
      // Every other round in reverse order: what comes first in one comes last in the next.
      for (const name of nth % 2 === 1 ? names : [...names].reverse()) {
        const sample = await runOnce(name, hosts, pages)
        samples.get(name).push(sample)
        console.error(
          `round ${nth} of ${rounds}  ${name.padEnd(9)} ${round(sample.cpuPer1k, 3)} CPU s per 1,000 pages, start-up ${round(sample.startSeconds, 2)} s`,
        )
      }
    }
  } finally {
    hosts.close()
  }

  const guardPer1k = guardSeconds() * 1_000
  /** Of the crawl without features, one value per round. */
  const added = (name) => {
    const { base } = CRAWLS[name]
    const all = [samples.get(name), samples.get(base), samples.get('none')]
    if (all.includes(undefined)) return null
    const [some, less, none] = all
    return some.map(({ cpuPer1k }, nth) => (cpuPer1k - less[nth].cpuPer1k) / none[nth].cpuPer1k)
  }
  const shares = Object.fromEntries(names.map((name) => [name, added(name)]))
  const middle = (name, key) => median(samples.get(name).map((one) => one[key]))
  console.log(
    `\n${pages} pages, ${CONCURRENCY} at once, median of ${rounds} alternations; CPU of all processes and threads, start-up taken off\n${versions()}\n`,
  )
  console.log(
    table(
      ['crawl', 'pages/s', 'CPU s / 1,000', 'adds', 'what is on'],
      names.map((name) => [
        name,
        round(middle(name, 'pagesPerSecond'), 0),
        middle(name, 'cpuPer1k').toFixed(3),
        shares[name] === null ? '' : percent(median(shares[name])),
        CRAWLS[name].what,
      ]),
    ),
  )
  const ofPage = (per1k) => (names.includes('none') ? percent(per1k / middle('none', 'cpuPer1k')) : 'unknown')
  const verdictPer1k = verdictSeconds() * 1_000
  console.log(
    `\nguard: ${micros(guardPer1k)} for a URL and an address, ${ofPage(guardPer1k)} of a page if every page had both`,
  )
  console.log(
    `judging whether an answer is a wall: ${micros(verdictPer1k)}, ${ofPage(verdictPer1k)} of a page, a part of pool\n`,
  )
  const { all, adaptive } = shares
  const bars = []
  if (all && adaptive) {
    const together = median(all.map((share, nth) => share + adaptive[nth])) + guardPer1k / middle('none', 'cpuPer1k')
    bars.push({
      text: `guard, robots check, choice of proxies and adaptive pace add at most ${percent(MOST)} CPU a page`,
      value: percent(together),
      holds: together <= MOST,
    })
  }
  const passed = printBars(bars)
  if (json) {
    const crawls = Object.fromEntries(
      names.map((name) => [
        name,
        { cpuPer1k: round(middle(name, 'cpuPer1k'), 4), adds: shares[name] && round(median(shares[name]), 4) },
      ]),
    )
    console.log(
      JSON.stringify({
        bench: 'crawl',
        features: true,
        guardPer1k: round(guardPer1k, 6),
        verdictPer1k: round(verdictPer1k, 6),
        crawls,
      }),
    )
  }
  return passed
}

/** The crawl of one page measures startup. */
async function runOnce(name, hosts, pages) {
  const each = Math.ceil(pages / CRAWLS[name].hosts)
  const start = await crawl(name, hosts, 1, 1)
  const whole = await crawl(name, hosts, CRAWLS[name].hosts, each)
  const count = each * CRAWLS[name].hosts
  return {
    cpuPer1k: ((whole.cpuSeconds - start.cpuSeconds) / (count - 1)) * 1_000,
    startSeconds: start.cpuSeconds,
    pagesPerSecond: count / whole.seconds,
  }
}

async function crawl(name, site, hosts, pages) {
  const { pace, robots, out } = CRAWLS[name]
  const { origins } = await site.begin({ hosts, pages })
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  try {
    const file = join(dir, 'pools.json')
    // The service that fetches for us is the site itself: the figure is the selection, not the work of a proxy.
    const url = `${origins[0]}/wrapped?url={url}`
    writeFileSync(file, JSON.stringify({ bench: { service: 'wrap', url, sessions: PROXIES } }))
    const { cpuSeconds, result } = await runShoal('./spider-features.js', {
      origin: origins[0],
      concurrency: CONCURRENCY,
      withRecords: false,
      task: { origins, pace, robots, out },
      flags: out === null ? [] : ['--proxies', file],
    })
    if (result.records !== hosts * pages) throw new Error(`${name} has ${result.records} records of ${hosts * pages}`)
    return { cpuSeconds, seconds: (await site.report(name)).seconds }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** It cannot be turned off. It checks origins and connections, far fewer than pages; this is what it would cost to check every page. */
function guardSeconds() {
  const urls = Array.from({ length: 1_000 }, (_, index) => new URL(pathOf(index), 'http://93.184.215.14:8080'))
  return cpuSecondsOf(1_000_000, (nth) => {
    const url = urls[nth % urls.length]
    if (judgeUrl(url, ['127.0.0.1:8080']) !== null || judgeAddress(url.hostname) !== null)
      throw new Error('the guard refused a public address')
  })
}

/** Whether a page that came through a proxy is a bot-protection page: part of what `pool` adds. */
function verdictSeconds() {
  const bodies = Array.from({ length: 500 }, (_, index) => Buffer.from(pageHtml(index, 1_000)))
  const answer = { status: 200, headers: { 'content-type': 'text/html' }, retryAfterMs: null }
  return cpuSecondsOf(20_000, (nth) => {
    if (verdictOfAnswer({ ...answer, body: bodies[nth % bodies.length] }, null).kind !== 'good')
      throw new Error('a page of the site was taken for a wall')
  })
}

function cpuSecondsOf(times, work) {
  for (let nth = 0; nth < times / 10; nth++) work(nth)
  const before = process.cpuUsage()
  for (let nth = 0; nth < times; nth++) work(nth)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6 / times
}

function micros(per1k) {
  return `${round(per1k * 1_000, 2)} µs`
}

function percent(share) {
  return `${round(share * 100, 1)} %`
}
