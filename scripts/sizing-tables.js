/**
 * The tables of docs/sizing.md, computed from the measurements in src/simulate/figures.ts: a figure that changes changes the page.
 */
const HOUR_S = 3_600
const US = 1e6
/** From this share of its core on, Redis makes callers wait (CORE_FULL in the simulator, advice.ts in production). */
const FULL = 0.85
const URLS = [1e6, 1e8, 1e9]
/** Of a crawl that follows links: the share of its URLs that wait at the worst moment. Ours are between a tenth and three fifths. */
const MOST_QUEUED = 0.5
const URLS_PER_HOST = 1_000

/** By the name of the table, as rows of cells; the first row is the head. */
export function sizingTables(figures, simulated) {
  return {
    'pages per core': pagesPerCore(figures),
    'queue bytes': queueBytes(figures),
    'queue memory': queueMemory(figures),
    'one Redis': oneRedis(figures),
    'store bytes': storeBytes(figures),
    network: network(figures),
    machines: machines(figures),
    examples: examples(simulated),
  }
}

const LIMIT_NAMES = {
  host_pace: 'the pace of hosts',
  workers: 'workers',
  hosts: 'slow hosts',
  links: 'links',
  retries: 'retries',
}

/** Those that were simulated (simulate-examples.js); the others are commands without a result. */
function examples(simulated) {
  return [
    [
      '`shoal simulate examples/broad.json` …',
      'ends after',
      'limited by',
      'workers needed',
      'Redis',
      'Postgres',
      'cost',
    ],
    ...simulated.map(({ urls, hosts, workers, result }) => {
      const command = `\`--urls ${urls} --hosts ${hosts} --workers ${workers}\``
      if (result === null) return [command, ...Array(6).fill('–')]
      return [
        command,
        hoursOrDays(result.endMs),
        result.limits
          .map(({ limit, share }) => `${LIMIT_NAMES[limit] ?? limit} ${Math.round(100 * share)} %`)
          .join(', '),
        String(result.workersNeeded),
        size(result.queueBytes),
        size(result.storeBytes),
        round(result.cost, 2),
      ]
    }),
  ]
}

function hoursOrDays(ms) {
  const hours = ms / (HOUR_S * 1_000)
  return hours < 48 ? `${hours.toFixed(1)} h` : `${(hours / 24).toFixed(1)} days`
}

function pagesPerCore({ worker, browser }) {
  const row = (what, us) => [what, micro(us), perHour(us), perHour(us * worker.node24Share)]
  return [
    ['a page', 'CPU', 'pages per core and hour', 'with Node 24'],
    row('with rules (`fields`, `follow`), the worker busy all the time', worker.rulesUsPerPage),
    row('with rules, 200 pages/s: the worker wakes up for each', worker.politeUsPerPage),
    row('with a handler and `page.$`, busy', worker.handlerUsPerPage),
    ['in a browser', micro(browser.usPerPage), perHour(browser.usPerPage), 'the same: Chromium does the work'],
  ]
}

function queueBytes({ redis, sqlite }) {
  return [
    ['a URL', 'Redis', 'SQLite'],
    [
      'waiting',
      `${bytes(redis.bytesPerQueued)} + ${bytes(redis.bytesPerSeen)} for its fingerprint`,
      bytes(sqlite.bytesPerQueued),
    ],
    ['done', bytes(redis.bytesPerSeen), bytes(sqlite.bytesPerDone)],
    ["done, with `dedupe: 'bloom'`", bytes(redis.bytesPerSeenBloom), '–'],
    ['and for each host', bytes(redis.bytesPerHost), 'in the above'],
  ]
}

function queueMemory({ redis, sqlite }) {
  const memory = (urls, seen) =>
    urls * (seen + MOST_QUEUED * redis.bytesPerQueued) + (urls / URLS_PER_HOST) * redis.bytesPerHost
  return [
    ['URLs', 'Redis', "Redis with `dedupe: 'bloom'`", 'SQLite file'],
    ...URLS.map((urls) => [
      count(urls),
      size(memory(urls, redis.bytesPerSeen)),
      size(memory(urls, redis.bytesPerSeenBloom)),
      size(urls * sqlite.bytesPerDone),
    ]),
  ]
}

function oneRedis({ redis, worker }) {
  const row = (what, us, perWorker) => {
    const most = (FULL * US) / us
    return [
      what,
      micro(us),
      `${round(most)} pages/s`,
      `${round(perWorker)} pages/s`,
      String(Math.floor(most / perWorker)),
    ]
  }
  return [
    ['crawl', 'CPU of Redis per page', 'one Redis carries', 'one worker takes', 'workers per Redis'],
    row('polite, responses take 300 ms', redis.politeUsPerPage, worker.slots / 0.3),
    row('polite, responses take 1 s', redis.politeUsPerPage, worker.slots),
    row('as fast as a core can read', redis.busyUsPerPage, US / worker.rulesUsPerPage),
    row('with `page.$`, as fast as a core can', redis.busyUsPerPage, US / worker.handlerUsPerPage),
  ]
}

function storeBytes({ postgres, sqlite, rawPages }) {
  return [
    ['', 'Postgres', 'SQLite', 'a million'],
    ...[
      ['a record with 1 KB of data', postgres.bytesPerRecord, sqlite.bytesPerRecord],
      ['a row of the fetch log', postgres.bytesPerFetch, sqlite.bytesPerFetch],
      ['WAL of both, until it is recycled', postgres.walBytesPerPage, null],
    ].map(([what, one, other]) => [what, bytes(one), other === null ? '–' : bytes(other), size(one * 1e6)]),
    [
      'a raw page of 60 KB (`savePages`), in files or S3',
      bytes(rawPages.compressedShare * 60_000),
      'the same',
      size(rawPages.compressedShare * 60_000 * 1e6),
    ],
    [
      '… and its row in the index',
      bytes(rawPages.indexBytesPerPage),
      'the same',
      size(rawPages.indexBytesPerPage * 1e6),
    ],
  ]
}

function network({ redis, postgres }) {
  const at = (each) => `${round((each * 1_000 * 8) / 1e6)} Mbit/s`
  return [
    ['between a worker and', 'bytes per page, both directions', 'at 1,000 pages/s'],
    ['Redis', bytes(redis.networkBytesPerPage), at(redis.networkBytesPerPage)],
    [
      'Postgres, with records of 1 KB',
      bytes(postgres.networkBytesPerPage + 1_024),
      at(postgres.networkBytesPerPage + 1_024),
    ],
    ['the sites, with pages of 60 KB', bytes(60_000), at(60_000)],
  ]
}

/** A worker each for a core; Redis with room for as much again, because it copies pages while it writes a snapshot. */
function machines({ redis, postgres, worker }) {
  return [
    ['URLs', 'within a', 'pages/s', 'workers', 'Redis', 'Postgres'],
    ...[
      [1e6, 24],
      [1e8, 7 * 24],
      [1e9, 30 * 24],
    ].map(([urls, hours]) => {
      const perSecond = urls / (hours * HOUR_S)
      const workers = Math.ceil(Math.max(perSecond / worker.slots, (perSecond * worker.politeUsPerPage) / (FULL * US)))
      const memory =
        urls * (redis.bytesPerSeen + MOST_QUEUED * redis.bytesPerQueued) + (urls / URLS_PER_HOST) * redis.bytesPerHost
      return [
        count(urls),
        { 24: 'day', 168: 'week', 720: 'month' }[hours],
        round(perSecond),
        `${workers} × 1 core, ${size(workers * worker.memoryBytes)}`,
        `${cores(perSecond * redis.politeUsPerPage)}, ${size(2 * memory)}`,
        `${cores(perSecond * postgres.politeUsPerPage)}, ${size(urls * (postgres.bytesPerRecord + postgres.bytesPerFetch))}`,
      ]
    }),
  ]
}

function cores(usPerSecond) {
  const used = usPerSecond / US
  return used < 1 ? `${Math.ceil(100 * used)} % of a core` : `${used.toFixed(1)} cores`
}

function perHour(us) {
  const pages = (HOUR_S * US) / us
  return pages >= 1e6 ? `${(pages / 1e6).toFixed(1)} million` : round(pages)
}

function micro(us) {
  return us >= 1_000 ? `${round(us / 1_000, 2)} ms` : `${round(us)} µs`
}

function bytes(number) {
  return number >= 10_000 ? `${round(number / 1_000)} KB` : `${round(number, number < 100 ? 1 : 0)} B`
}

function size(number) {
  for (const [unit, of] of [
    ['TB', 1e12],
    ['GB', 1e9],
    ['MB', 1e6],
  ])
    if (number >= of) return `${round(number / of, number < 10 * of ? 1 : 0)} ${unit}`
  return bytes(number)
}

function count(number) {
  return number >= 1e9 ? `${number / 1e9} billion` : `${number / 1e6} million`
}

function round(number, digits = 0) {
  return number.toLocaleString('en', { maximumFractionDigits: digits })
}
