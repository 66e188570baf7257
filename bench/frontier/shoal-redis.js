import { setTimeout as sleep } from 'node:timers/promises'
import { openRedisFrontier } from '../../dist/frontier/redis/redis-frontier.js'
import { openRedis } from '../../dist/redis/connection.js'
import { BATCH } from './links.js'

const CRAWL = 'bench'
const ELAPSED_MS = 5
/** Longer than hosts are blocked in any part of the benchmark. */
const GIVE_UP_MS = 300_000

/** Short enough that 10,000 hosts allow 200,000 leases per second: rate limits are enforced, and nothing waits for them. */
const LIMITS = { delayMs: 50, concurrency: 2 }

/** The driver as a worker uses it: lease, release when the body is read, settle. Without releases the settle frees the host's slot. */
export async function openShoalRedis({
  url,
  connections,
  limits = LIMITS,
  seen,
  visibilityMs = 60_000,
  releases = true,
  batch = BATCH,
}) {
  const opened = await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await openRedis(url)
      return { connection, frontier: await openRedisFrontier(connection, {}) }
    }),
  )
  const frontiers = opened.map((one) => one.frontier)
  await frontiers[0].open({
    id: CRAWL,
    spider: CRAWL,
    spiderHash: '',
    order: 'priority',
    limits,
    routeLimits: {},
    visibilityMs,
    retryPriorityStep: 10,
    agingMs: 1_000,
    maxReclaims: 3,
    maxPending: 100_000_000,
    overflow: 'refuse',
    budget: {},
    ...(seen === undefined ? {} : { seen }),
    gen: 1,
  })
  const lanes = frontiers.map((frontier, nth) => laneOf(frontier, `bench-${nth}`, batch))
  return {
    lanes,
    stats: () => frontiers[0].stats(CRAWL),
    pending: async () => {
      const { queued, delayed } = await frontiers[0].stats(CRAWL)
      return queued + delayed
    },
    async drain(total, { progress } = {}) {
      let done = 0
      let progressAt = performance.now()
      await Promise.all(
        lanes.map(async (lane) => {
          while (done < total && performance.now() - progressAt < GIVE_UP_MS) {
            const { leases, idleMs } = await lane.lease()
            if (leases.length === 0) {
              await sleep(idleMs)
              continue
            }
            progressAt = performance.now()
            if (releases) await lane.release(leases)
            // Not `done += await`: that reads `done` before the wait, and four lanes write it.
            const settled = await lane.settle(leases)
            done += settled
            progress?.(done)
          }
        }),
      )
      return done
    },
    /** The crawl is removed; what its spider has seen stays if the scope says so. */
    async discard() {
      await frontiers[0].setState(CRAWL, 'cancelled')
      await frontiers[0].remove(CRAWL)
    },
    async close() {
      for (const { frontier, connection } of opened) {
        await frontier.close()
        await connection.close()
      }
    },
  }
}

function laneOf(frontier, worker, want) {
  let seq = 0
  return {
    add: (links) => frontier.add(CRAWL, links),
    lease: () => frontier.lease({ worker, seq: ++seq, want, busy: 0, spiders: [CRAWL] }),
    release: (leases, reportOf = () => ({ kind: 'ok' })) =>
      frontier.release(
        leases.map((lease) => ({ lease, host: lease.link.host, elapsedMs: ELAPSED_MS, report: reportOf(lease) })),
      ),
    async settle(leases, outcomeOf = () => ({ kind: 'done', links: [], bytes: 10_240 })) {
      const settled = await frontier.settle(leases.map((lease) => ({ lease, outcome: outcomeOf(lease) })))
      return settled.filter(Boolean).length
    },
  }
}
