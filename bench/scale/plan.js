/** Answers of the site take this long, except for CPU-bound pages, which it answers at once. */
export const ANSWER_MS = 300
/** CPU of a handler that computes. */
export const HANDLER_MS = 50
/** Of mixed pages, one in so many computes. */
export const MIXED_EVERY = 4
/**
 * The most that a worker visits at once. With 32, eight workers of I/O-bound pages need about one core: the hosts and the workers are the limit, not the
 * machine that they all share.
 */
export const CONCURRENCY = 32
/** Requests at once per host: a single host has to be generous, or there is nothing to share. */
export const perHost = (hosts) => (hosts === 1 ? 20 : 4)
export const MOST_HOSTS = 200
/** Between two requests of one proxy to the host. */
export const PROXY_DELAY_MS = 1_000

const KINDS = ['cpu', 'io', 'mixed']
const HOSTS = [1, 20, MOST_HOSTS]
const WORKERS = [1, 2, 4, 8]

/** Pages per second of one worker, to give a cell as many pages as it needs; the measured rate is what counts. */
export const ONE_WORKER = {
  cpu: 1_000 / (HANDLER_MS + 2),
  io: (CONCURRENCY * 1_000) / ANSWER_MS,
  mixed: (MIXED_EVERY * 1_000) / (HANDLER_MS + 2 * MIXED_EVERY),
}

/**
 * The fleets of a run, in their order; each runs its cells one after the other with the same processes. The first fleet of a queue has one worker: the
 * others are compared with it.
 */
export function planFleets({ quick, cores }) {
  const seconds = quick ? 6 : 10
  const cells = (workers, pick) =>
    KINDS.flatMap((kind) => HOSTS.map((hosts) => ({ kind, hosts, workers, proxies: 0, seconds }))).filter(pick)
  const redis = WORKERS.map((workers) => ({
    ...{ queue: 'redis', workers, proxies: 0 },
    cells: cells(workers, (cell) => !quick || isQuick(cell)),
  }))
  const sqlite = [1, 2].map((workers) => ({
    ...{ queue: 'sqlite', workers, proxies: 0 },
    cells: cells(workers, ({ kind, hosts }) => hosts === 20 && (kind === 'cpu' || (kind === 'io' && !quick))),
  }))
  const proxied = [
    [3, 10],
    [10, 50],
    [20, 100],
  ]
    .slice(0, quick ? 1 : 3)
    .map(([workers, proxies]) => ({
      ...{ queue: 'redis', workers, proxies },
      cells: [{ kind: 'io', hosts: 1, workers, proxies, seconds: quick ? 10 : 15 }],
    }))
  return [...redis, ...sqlite, ...proxied].map((fleet) => ({
    ...fleet,
    cells: fleet.cells.map((cell) => ({ ...cell, queue: fleet.queue, pages: pagesOf(cell, cores) })),
  }))
}

/** The cells of the targets, each with its run of one worker. */
function isQuick({ kind, hosts, workers }) {
  if (kind === 'cpu') return hosts === 20 && workers <= 2
  if (kind === 'io') return (hosts === 1 && workers <= 4) || (hosts === MOST_HOSTS && workers !== 4)
  return hosts === 20 && workers <= 2
}

function pagesOf(cell, cores) {
  return Math.ceil(limitOf(cell, { one: ONE_WORKER[cell.kind], cores }).pagesPerSecond * cell.seconds)
}

/** What a cell could reach at best, given the rate of one worker, and what stops it there. */
export function limitOf({ kind, hosts, workers, proxies }, { one, cores }) {
  const limits = [{ by: 'workers', pagesPerSecond: workers * one }]
  if (kind !== 'cpu' && proxies === 0)
    limits.push({ by: 'hosts', pagesPerSecond: (hosts * perHost(hosts) * 1_000) / ANSWER_MS })
  if (kind !== 'io') limits.push({ by: 'cores', pagesPerSecond: cores * one })
  if (proxies > 0) limits.push({ by: 'proxies', pagesPerSecond: (proxies * 1_000) / PROXY_DELAY_MS })
  return limits.reduce((least, limit) => (limit.pagesPerSecond < least.pagesPerSecond ? limit : least))
}

/** Starting a worker takes about this much CPU, and the cores share it. */
const START_CPU_S = 2
const FLEET_S = 2
const CELL_S = 2

/** Seconds that these fleets take. */
export function secondsOf(fleets, cores) {
  const ofFleet = ({ workers, cells }) =>
    FLEET_S + (workers * START_CPU_S) / cores + cells.reduce((sum, { seconds }) => sum + seconds + CELL_S, 0)
  return fleets.filter(({ cells }) => cells.length > 0).reduce((sum, fleet) => sum + ofFleet(fleet), 0)
}
