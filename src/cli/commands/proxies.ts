import { type Command, InvalidArgumentError } from 'commander'
import { systemRandom } from '../../clock.js'
import { EXIT, ShoalError } from '../../errors.js'
import type { Pool } from '../../proxy/pool.js'
import { chosenPools, loadPools, poolNamed } from '../../proxy/pools.js'
import { LATENCY_BUCKETS, type ProxyLedger, type ProxyScore, scoreCursor } from '../../proxy/proxy-ledger.js'
import { bucketOf } from '../../proxy/proxy-state.js'
import { totalsOf } from '../../proxy/proxy-totals.js'
import type { TestedRequest } from '../../run/test-proxies.js'
import { siteOf } from '../../url/host.js'
import { guide } from '../help.js'
import { withLedger } from '../proxy-ledger.js'
import { acts, proxyOptions, type Session, wholeNumber } from '../session.js'
import { withSignals } from '../signals.js'
import { clean } from '../terminal/clean.js'
import { count, duration, plural } from '../terminal/format.js'
import { shrinking } from '../terminal/table.js'
import { byProxy, bySite, restText, TOTALS_COLUMNS, totalsCells } from '../views/proxies-view.js'
import { shownProgress } from '../views/work-progress.js'

const PAGE = 1_000

export function proxiesCommand(program: Command): void {
  const proxies = program
    .command('proxies')
    .description('proxy pools: success, cost and rests of each proxy on each site; test a pool')
  listCommand(proxies)
  testCommand(proxies)
  guide(proxies, {
    examples: [
      ['proxies list --proxies pools.json', 'success, latency, bans and cost by pool, site and proxy'],
      [
        'proxies test dc --proxies pools.json --url https://shop.example/',
        'fetch a page through every proxy of the pool dc',
      ],
    ],
    exitCodes: ['notFound', 'nothingFetched'],
  })
}

function listCommand(proxies: Command): void {
  const list = proxyOptions(proxies.command('list'))
    .description('proxy statistics of the whole fleet: success, latency, bans, cost per 1,000 good pages, rests')
    .option('--site <domain>', 'only on this registrable domain')
    .option('--limit <n>', 'show at most this many proxies per pool', wholeNumber, 50)
    .action(
      acts(async (session, { site: host, limit }: { site?: string; limit: number }) => {
        const site = host === undefined ? null : siteOf(host.toLowerCase())
        const pools = poolsOf(session)
        await withLedger(session, { create: false }, async ({ proxies, queueClock }) => {
          for (const [index, pool] of pools.entries()) {
            const scores = await allScores(proxies, pool.name)
            if (index > 0 && !session.json) session.output.print()
            showPool(session, pool, scores, { site, limit, now: queueClock.now() })
          }
        })
      }),
    )
  guide(list, {
    examples: [
      ['proxies list --proxies pools.json', 'all pools of the file'],
      ['proxies list --proxies pools.json --pool dc --site shop.example', 'the proxies of dc on one site'],
      ['proxies list --proxies pools.json --json', 'one object per line: pool, site or proxy'],
    ],
    exitCodes: ['notFound'],
  })
}

function poolsOf({ settings }: Session): Pool[] {
  const pools = chosenPools(loadPools(settings.proxies, process.env), settings.pool, settings.country)
  if (pools.length > 0) return pools
  throw new ShoalError('proxy_unknown', 'no proxies configured')
}

async function allScores(ledger: ProxyLedger, pool: string): Promise<ProxyScore[]> {
  const all: ProxyScore[] = []
  for (let after: string | undefined; ; ) {
    const page = await ledger.scores(pool, { limit: PAGE, ...(after === undefined ? {} : { after }) })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return all
    after = scoreCursor(last)
  }
}

function showPool(
  { output, json }: Session,
  pool: Pool,
  found: readonly ProxyScore[],
  { site, limit, now }: { readonly site: string | null; readonly limit: number; readonly now: number },
): void {
  const { style } = output
  const known = new Set(pool.proxies.map(({ id }) => id))
  const scores = found.filter(({ proxy }) => known.has(proxy))
  const proxies = byProxy(pool.proxies, scores, site, now)
  const sites = bySite(scores).filter((one) => site === null || one.site === site)
  const resting = proxies.filter(({ rests }) => rests.length > 0).length
  const whole = totalsOf(scores.filter((score) => score.site === (site ?? '')))
  const { name, kind } = pool
  if (json) {
    output.json({ of: 'pool', pool: name, kind, proxies: pool.proxies.length, resting, site, ...whole })
    output.jsonLines(sites.map((one) => ({ of: 'site', pool: name, ...one })))
    output.jsonLines(proxies.map((one) => ({ of: 'proxy', pool: name, site, ...one })))
    return
  }
  const head = [
    kind,
    plural(pool.proxies.length, 'proxy', 'proxies'),
    ...(resting > 0 ? [`${count(resting)} resting`] : []),
  ]
  output.print(`${style.bold(name)}  ${head.join(style.dim(' · '))}`)
  if (whole.requests === 0) {
    output.note(`no requests through ${name} yet${site === null ? '' : ` to ${clean(site)}`}`)
    return
  }
  output.table(
    [shrinking('site'), ...TOTALS_COLUMNS],
    [
      ...(site === null ? [['all', ...totalsCells(whole, style)]] : []),
      ...sites.slice(0, limit).map((one) => [clean(one.site), ...totalsCells(one, style)]),
    ],
  )
  output.print()
  output.table(
    [shrinking('proxy'), 'country', ...TOTALS_COLUMNS, 'resting for'],
    proxies
      .slice(0, limit)
      .map((one) => [clean(one.proxy), one.country ?? '', ...totalsCells(one, style), restText(one, style)]),
  )
  if (proxies.length > limit) output.note(`the first ${count(limit)}; more with --limit`)
}

interface TestFlags {
  readonly url: string
  readonly count: number
  readonly parallel: number
  readonly allowPrivate?: string
  readonly wake: boolean
}

function testCommand(proxies: Command): void {
  const test = proxyOptions(proxies.command('test'), { pool: false })
    .description('fetch a page through every proxy of a pool; the results count for the whole fleet')
    .argument('<pool>', 'pool name; a plain list of proxies is the pool default')
    .option('--url <url>', 'page to fetch', 'https://example.com/')
    .option('--count <n>', 'requests through each proxy', wholeNumber, 1)
    .option('--parallel <n>', 'proxies tested at once', atOnce, 16)
    .option('--allow-private <host:port>', 'allow this private address, for a site of your own')
    .option('--wake', 'end the rests of the pool first; otherwise resting proxies are not tested', false)
    .action(
      acts(async (session, name: string, flags: TestFlags) => {
        const { settings } = session
        const all = loadPools(settings.proxies, process.env)
        const [pool] = chosenPools([poolNamed(all, name)], null, settings.country)
        if (pool === undefined) throw new ShoalError('proxy_unknown', `there is no pool '${name}'`)
        const { tested, signal } = await withLedger(session, { create: true }, ({ proxies }) =>
          runTest(session, proxies, pool, flags),
        )
        showTest(session, pool, tested)
        if (signal !== null) return EXIT[signal === 'SIGINT' ? 'interrupted' : 'terminated'].code
        return tested.some(({ outcome }) => outcome === 'good') ? undefined : EXIT.nothingFetched.code
      }),
    )
  guide(test, {
    examples: [
      ['proxies test default --proxies proxies.txt', 'which proxies of the list work at all'],
      ['proxies test home --proxies pools.json --url https://shop.example/ --count 5', 'how they perform on one site'],
    ],
    exitCodes: ['nothingFetched', 'interrupted', 'terminated'],
  })
}

function atOnce(text: string): number {
  const value = wholeNumber(text)
  if (value > 256) throw new InvalidArgumentError('Expected at most 256.')
  return value
}

async function runTest(session: Session, ledger: ProxyLedger, pool: Pool, flags: TestFlags) {
  const { clock } = session
  const { testProxies } = await import('../../run/test-proxies.js')
  if (flags.wake) for (const { id } of pool.proxies) await ledger.wake(pool.name, id)
  const stop = { aborted: false }
  const onDrain = () => {
    stop.aborted = true
  }
  const progress = shownProgress(session, 'requests', pool.proxies.length * flags.count)
  let done = 0
  return withSignals(onDrain, async (signals) => {
    const tested = await testProxies(
      {
        ...{ pool, url: flags.url, count: flags.count, concurrency: flags.parallel, stop },
        allowPrivate: flags.allowPrivate === undefined ? [] : [flags.allowPrivate],
        onDone: () => progress.report(++done, pool.name),
      },
      { ledger, clock, random: systemRandom, name: `test-${process.pid}-${clock.now()}` },
    )
    return { tested, signal: signals.received() }
  }).finally(() => progress.stop())
}

function showTest({ output, json }: Session, pool: Pool, tested: readonly TestedRequest[]): void {
  const { style } = output
  const of = (id: string) => tested.filter(({ proxy }) => proxy.id === id)
  const rows = pool.proxies.map(({ id, country }) => ({
    proxy: id,
    country,
    ...totalsOfTest(of(id)),
    last: of(id).at(-1),
  }))
  const whole = totalsOfTest(tested)
  if (json) {
    output.jsonLines(
      rows.map(({ last, ...row }) => ({
        ...{ of: 'proxy', pool: pool.name, ...row },
        ...{ outcome: last?.outcome ?? null, status: last?.status ?? null, error: last?.error ?? null },
        restsMs: last?.restsMs ?? null,
      })),
    )
    output.json({ of: 'pool', pool: pool.name, kind: pool.kind, proxies: pool.proxies.length, ...whole })
    return
  }
  output.table(
    [shrinking('proxy'), 'country', ...TOTALS_COLUMNS, 'last'],
    [
      ...rows.map((row) => [clean(row.proxy), row.country ?? '', ...totalsCells(row, style), lastText(row.last)]),
      ['all', '', ...totalsCells(whole, style), ''],
    ],
  )
}

function lastText(last: TestedRequest | undefined): string {
  if (last === undefined) return 'not tested'
  if (last.outcome === 'resting') return `resting for ${duration(last.restsMs ?? 0)}`
  return `${last.outcome} ${last.error ?? last.status ?? ''}`.trim()
}

function totalsOfTest(tested: readonly TestedRequest[]) {
  return totalsOf(
    tested.flatMap(({ outcome, bytes, cost, ms }) =>
      outcome === 'resting' ? [] : [{ ...NOTHING, [outcome]: 1, bytes, cost, latency: latencyOf(ms ?? 0) }],
    ),
  )
}

const NOTHING = { good: 0, neutral: 0, banned: 0, broken: 0 }

function latencyOf(ms: number): number[] {
  const bucket = bucketOf(ms)
  return Array.from({ length: LATENCY_BUCKETS.length + 1 }, (_, index) => (index === bucket ? 1 : 0))
}
