import { measureFootprint } from './frontier/footprint.js'
import { compareMasters } from './frontier/masters.js'
import { CONNECTIONS, compareSpeed, HOSTS, SPEED_CONTENDERS } from './frontier/speed.js'
import { compareSqlite } from './frontier/sqlite.js'
import { printBars, round, table, versions } from './report.js'

const PARTS = ['speed', 'masters', 'footprint', 'sqlite']
const SIZES = {
  full: {
    urls: 400_000,
    mastersUrls: 60_000,
    rounds: 3,
    sqlitePages: 100_000,
    footprint: { urls: 10_000_000, hosts: 100_000, bloomUrls: 10_000_000 },
  },
  quick: {
    urls: 100_000,
    mastersUrls: 12_000,
    rounds: 1,
    sqlitePages: 20_000,
    footprint: { urls: 1_000_000, hosts: 10_000, bloomUrls: 1_000_000 },
  },
}

/** `only` takes parts (speed, masters, footprint, sqlite) and names of contenders. */
export async function run({ pages, rounds, only, quick, json }) {
  const size = SIZES[quick ? 'quick' : 'full']
  const unknown = (only ?? []).filter((name) => !PARTS.includes(name) && !SPEED_CONTENDERS.includes(name))
  if (unknown.length > 0) throw new Error(`--only knows ${[...PARTS, ...SPEED_CONTENDERS].join(', ')}, not ${unknown}`)
  const asked = (name) => only === undefined || only.includes(name)
  const names = SPEED_CONTENDERS.filter((name) => asked('speed') || asked(name))

  const bars = []
  const contenders = {}
  console.log(versions('bullmq', 'ioredis'))
  if (names.length > 0) {
    const task = { urls: pages ?? size.urls, rounds: rounds ?? size.rounds, names }
    const figures = await compareSpeed(task)
    Object.assign(contenders, figures)
    printSpeed(figures, task)
    bars.push(...speedBars(figures))
  }
  if (asked('masters')) {
    const figures = await compareMasters({ urls: size.mastersUrls })
    contenders['shoal-redis'] = { ...contenders['shoal-redis'], masters: figures }
    printMasters(figures)
    bars.push(...mastersBars(figures))
  }
  if (asked('footprint')) {
    const figures = await measureFootprint(size.footprint)
    const { bytesPerPending, bytesPerSeen } = figures
    contenders['shoal-redis'] = { ...contenders['shoal-redis'], ...figures, bytesPerPending, bytesPerSeen }
    printFootprint(figures, size.footprint)
    bars.push(...footprintBars(figures))
  }
  if (asked('sqlite')) {
    const sqlite = await compareSqlite({ pages: pages ?? size.sqlitePages, rounds: rounds ?? size.rounds })
    console.log(`\n${sqlite.title}\n\n${table(sqlite.head, sqlite.rows)}`)
    contenders['shoal-sqlite'] = sqlite.figures['shoal-sqlite']
    contenders.bare = sqlite.figures.bare
    bars.push(...sqlite.bars)
  }
  console.log('')
  const passed = printBars(bars)
  if (json) console.log(JSON.stringify({ bench: 'frontier', contenders }))
  return passed
}

function printSpeed(figures, { urls, rounds }) {
  const cell = (value) => value ?? '–'
  console.log(
    `\nRedis: up to ${urls} URLs on ${HOSTS} hosts, batches of 100, ${CONNECTIONS} connections, median of ${rounds} rounds; CPU is that of redis-server, µs per URL\n`,
  )
  console.log(
    table(
      ['contender', 'adds/s', 'CPU', 'duplicates/s', 'CPU', 'lease+settle/s', 'CPU', 'bytes/pending', 'bytes/seen'],
      Object.entries(figures).map(([name, figure]) => [
        name,
        figure.addPerSecond,
        figure.redisCpuUsPerAdd,
        figure.duplicatePerSecond,
        figure.redisCpuUsPerDuplicate,
        cell(figure.leaseSettlePerSecond),
        cell(figure.redisCpuUsPerLeaseSettle),
        figure.bytesPerPending,
        cell(figure.bytesPerSeen),
      ]),
    ),
  )
}

function printMasters(figures) {
  const head = ['links a call', 'one server', 'busiest of three', 'carry']
  const rows = Object.entries(figures).map(([batch, { one, busiest, ratio }]) => [batch, one, busiest, `${ratio} ×`])
  console.log(
    `\nRedis: lease, release and settle; CPU µs per URL of a server alone and in a cluster of three masters\n\n${table(head, rows)}`,
  )
}

function mastersBars(figures) {
  return Object.entries(figures).map(([batch, { ratio }]) => ({
    text: `three masters carry at least 2.2 × one, in batches of ${batch}`,
    value: `${ratio} ×`,
    holds: ratio >= 2.2,
  }))
}

function printFootprint(figures, { urls, hosts, bloomUrls }) {
  console.log(
    `\nRedis: ${urls} URLs on ${hosts} hosts: ${figures.bytesPerPending} bytes a pending URL, ${figures.bytesPerSeen} a seen one; ` +
      `Bloom, ${bloomUrls} URLs: ${figures.bloomBytesPerSeen} bytes, ${round(figures.bloomErrorRate * 100, 3)} % wrongly known\n` +
      `Median server time of a lease of 100: ${figures.leaseUsSmall} µs at 10000 pending, ${figures.leaseUsLarge} µs at ${urls}, ` +
      `${figures.leaseUsBlocked} µs with 99 % of the hosts blocked; settle of a page with 42 links ${figures.settlePageUs} µs; longest script ${figures.longestScriptMs} ms`,
  )
}

function speedBars(figures) {
  const shoal = figures['shoal-redis']
  const better = (peer, key, what, least) => {
    if (shoal === undefined || figures[peer] === undefined) return []
    const ratio = figures[peer][key] / shoal[key]
    return [
      {
        text: `Redis CPU of ${what}, ${peer} at least ${least} × shoal-redis`,
        value: `${round(ratio)} ×`,
        holds: ratio >= least,
      },
    ]
  }
  const aof = (key, what) => {
    const durable = figures['shoal-redis+aof']
    if (shoal === undefined || durable === undefined) return []
    return [atMost(`Redis CPU of ${what} with appendonly everysec, × without`, durable[key] / shoal[key], 1.6)]
  }
  return [
    ...better('bullmq', 'redisCpuUsPerAdd', 'add', 5),
    ...better('bullmq', 'redisCpuUsPerLeaseSettle', 'lease+settle', 4),
    ...better('scrapy-redis-pattern', 'redisCpuUsPerAdd', 'add', 8),
    ...better('scrapy-redis-pattern', 'redisCpuUsPerLeaseSettle', 'lease+settle', 2),
    ...better('pipelined-sadd', 'redisCpuUsPerDuplicate', 'duplicates', 1),
    ...aof('redisCpuUsPerAdd', 'add'),
    ...aof('redisCpuUsPerLeaseSettle', 'lease+settle'),
  ]
}

function footprintBars(figures) {
  return [
    atMost('bytes per pending URL', figures.bytesPerPending, 100),
    atMost('bytes per seen URL', figures.bytesPerSeen, 12),
    atMost('bytes per seen URL in Bloom mode', figures.bloomBytesPerSeen, 2),
    atMost('URLs wrongly taken for known in Bloom mode, %', figures.bloomErrorRate * 100, 0.1),
    atMost('server time of lease in the large queue, × the small one', figures.leaseUsLarge / figures.leaseUsSmall, 2),
    atMost('the same with 99 % of the hosts blocked', figures.leaseUsBlocked / figures.leaseUsSmall, 2),
    atMost('longest script, ms', figures.longestScriptMs, 20),
  ]
}

function atMost(text, value, limit) {
  return { text: `${text}, at most ${limit}`, value: String(round(value, 3)), holds: value <= limit }
}
