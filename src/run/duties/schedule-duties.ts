import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock, Random } from '../../clock.js'
import { CLAIM_MS, type TurnTaken, takeTurn } from '../../coordinator/schedule.js'
import { seedCrawl } from '../../coordinator/seeding.js'
import { asShoalError, isAway } from '../../errors.js'
import type { CrawlId } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import type { Schedule } from '../../spider/schedule.js'
import type { Spider } from '../../spider/spider.js'
import type { Backends } from '../../wire/backends.js'
import type { PoolsAtHand } from '../pools-at-hand.js'
import { fetchesFiles, seedOptions } from '../seeds/seed-options.js'

/** How often a turn is checked whose process died, or that waits for a crawl to end. */
const CHECK_MS = 5_000

export interface SchedulesParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly signal: AbortSignal
  readonly pools: PoolsAtHand
  /** The name of this process; by default its host, its pid and a random part. */
  readonly holder?: string
  readonly claimMs?: number
  readonly onTurn?: (spider: string, taken: TurnTaken) => void
}

/** Starts the crawls of these spiders at their times, until the signal. Any number of processes may do this: one of them takes each turn. */
export async function startScheduleDuties(
  backends: Backends,
  spiders: readonly Spider[],
  parts: SchedulesParts,
): Promise<void> {
  const holder = parts.holder ?? `${hostname()}:${process.pid}:${randomBytes(3).toString('hex')}`
  // In parallel: adding the start URLs of one spider may take hours.
  await Promise.all(
    spiders.map(async (spider) => {
      if (spider.schedule !== null) await runSchedule(backends, spider, spider.schedule, holder, parts)
    }),
  )
}

async function runSchedule(
  backends: Backends,
  spider: Spider,
  schedule: Schedule,
  holder: string,
  parts: SchedulesParts,
) {
  const { clock, log, signal, claimMs = CLAIM_MS } = parts
  const seed = (one: Spider, crawl: CrawlId) => seedAll(backends, one, crawl, parts)
  let waitedFor = 0
  while (!signal.aborted) {
    try {
      const taken = await takeTurn(spider, schedule, { backends, clock, holder, claimMs, seed })
      const isNew = taken !== null && !(taken.kind === 'waiting' && taken.turn === waitedFor)
      if (taken?.kind === 'waiting') waitedFor = taken.turn
      if (isNew) {
        logTurn(spider.name, taken, log)
        parts.onTurn?.(spider.name, taken)
      }
    } catch (error) {
      if (!isAway(error)) log.warn('schedule.failed', { spider: spider.name, message: asShoalError(error).message })
    }
    const next = schedule.next(clock.now()) ?? Number.POSITIVE_INFINITY
    await clock.sleep(Math.min(CHECK_MS, next - clock.now()), signal)
  }
}

function logTurn(spider: string, taken: TurnTaken, log: Log): void {
  if (taken.kind === 'waiting') {
    const { turn, crawl } = taken
    log.info('schedule.waiting', { spider, turn: new Date(turn).toISOString(), crawl })
    return
  }
  const { turn, outcome, crawl, why, missed } = taken.note
  const event = outcome === 'skipped' || outcome === 'failed' ? (`schedule.${outcome}` as const) : 'schedule.started'
  const about = { spider, turn: new Date(turn).toISOString(), crawl, missed, ...(why !== null && { why }) }
  log[outcome === 'started' ? 'info' : 'warn'](event, about)
}

async function seedAll(backends: Backends, spider: Spider, crawl: CrawlId, parts: SchedulesParts): Promise<boolean> {
  const { clock, random, log, signal, pools } = parts
  const fetched = fetchesFiles(undefined, spider) ? pools : new Map()
  const options = seedOptions(undefined, { backends, spider, crawl, clock, random, log, signal, pools: fetched })
  const seeds = await seedCrawl(backends, spider, crawl, { clock, signal, ...options }).all
  log.info('crawl.seeded', { crawl, ...seeds })
  return !signal.aborted
}
