import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../measure.js'
import { round } from '../report.js'
import { linkBatches, makeLink, overLanes } from './links.js'
import { startRedis } from './redis-server.js'
import { CONNECTIONS, openShoal } from './speed.js'

const SAMPLES = 201
/** A queue this small fits every cache; its leases take from 100 hosts each, as those of the large one do. */
const SMALL = { urls: 10_000, hosts: 1_000 }
const LINKS_PER_PAGE = 42
const NEW_LINKS = 2
const BLOCKED_SHARE = 0.99
/** Long enough to block the hosts and to measure, short enough to wait for it. */
const blockMsFor = (hosts) => 60_000 + 2 * hosts
const BLOOM_ERROR = 0.001
const BLOOM_HOSTS = 1_000

/** Memory per URL and what a lease costs in a large queue, against a small one and with nearly all hosts blocked. */
export async function measureFootprint({ urls, hosts, bloomUrls }) {
  const small = await onServer({}, async (queue) => {
    await addAll(queue, SMALL.urls, SMALL.hosts)
    const leaseUs = await medianLeaseUs(queue)
    return { leaseUs, pageUs: await settlePages(queue) }
  })
  say(`lease at ${SMALL.urls} pending: ${small.result.leaseUs} µs`)
  const large = await onServer({}, (queue) => growAndDrain(queue, { urls, hosts }))
  const bloom = await onServer(
    {
      seen: { mode: 'bloom', scope: 'spider', ttlMs: null, errorRate: BLOOM_ERROR },
    },
    (queue) => fillBloom(queue, bloomUrls),
  )
  return {
    leaseUsSmall: small.result.leaseUs,
    settlePageUs: small.result.pageUs,
    ...large.result,
    ...bloom.result,
    longestScriptMs: Math.max(...[small, large, bloom].map((one) => one.longestScriptMs)),
  }
}

async function onServer(options, work) {
  const server = await startRedis()
  try {
    const queue = await openShoal({ url: server.url, connections: CONNECTIONS, ...options })
    const result = await work({ ...queue, server })
    const longestScriptMs = await server.longestScriptMs()
    await queue.close()
    return { result, longestScriptMs }
  } finally {
    await server.close()
  }
}

async function growAndDrain(queue, { urls, hosts }) {
  const { server } = queue
  const empty = await server.memory()
  await addAll(queue, urls, hosts)
  const bytesPerPending = ((await server.memory()) - empty) / urls
  say(`${urls} pending on ${hosts} hosts: ${round(bytesPerPending, 1)} bytes each`)
  const leaseUsLarge = await medianLeaseUs(queue)
  say(`lease at ${urls} pending: ${leaseUsLarge} µs`)
  const blockedHosts = await blockHosts(queue, Math.round(hosts * BLOCKED_SHARE))
  const leaseUsBlocked = await medianLeaseUs(queue)
  say(`lease with ${blockedHosts} of ${hosts} hosts blocked: ${leaseUsBlocked} µs`)
  const left = await queue.pending()
  const done = await queue.drain(left, { progress: progress('settled', left) })
  if (done !== left) throw new Error(`leased and settled ${done} of ${left} URLs`)
  await server.expireNow()
  const bytesPerSeen = ((await server.memory()) - empty) / urls
  return {
    bytesPerPending: round(bytesPerPending, 1),
    bytesPerSeen: round(bytesPerSeen, 2),
    leaseUsLarge,
    leaseUsBlocked,
  }
}

async function addAll({ lanes, pending }, urls, hosts, from = 0) {
  const report = progress('added', urls)
  let count = 0
  let known = 0
  await overLanes(lanes, linkBatches(urls, hosts, { from }), async (lane, batch) => {
    const result = await lane.add(batch)
    count += batch.length
    known += result.known
    report(count)
  })
  const there = await pending()
  if (from === 0 && there + known !== urls) throw new Error(`added ${there} of ${urls} URLs`)
  return known
}

/** Server time of one full lease call, as reported by the server. */
async function medianLeaseUs({ lanes, server }) {
  const [lane] = lanes
  const samples = []
  for (let tries = 0; samples.length < SAMPLES && tries < 20 * SAMPLES; tries++) {
    const before = await server.scriptUs()
    const { leases, idleMs } = await lane.lease()
    const after = await server.scriptUs()
    if (leases.length === 0) {
      await sleep(idleMs)
      continue
    }
    await lane.release(leases)
    await lane.settle(leases, () => ({ kind: 'back', afterMs: 0 }))
    if (leases.length >= 90) samples.push(after - before)
  }
  if (samples.length < SAMPLES) throw new Error(`only ${samples.length} of ${SAMPLES} leases came back full`)
  return round(median(samples), 0)
}

/** Pages with links, as a worker settles them: in each call 100 pages of 42 links, two of them new. Script time per page. */
async function settlePages({ lanes, server }) {
  const [lane] = lanes
  let next = SMALL.urls
  let pages = 0
  let us = 0
  const linksOf = () =>
    Array.from({ length: LINKS_PER_PAGE }, (_, nth) =>
      makeLink(nth < NEW_LINKS ? next++ : (next * 31 + nth * 977) % SMALL.urls, SMALL.hosts),
    )
  while (pages < 2_000) {
    const { leases, idleMs } = await lane.lease()
    if (leases.length === 0) {
      await sleep(idleMs)
      continue
    }
    await lane.release(leases)
    const before = await server.scriptUs()
    pages += await lane.settle(leases, () => ({ kind: 'done', links: linksOf(), bytes: 10_240 }))
    us += (await server.scriptUs()) - before
  }
  return round(us / pages, 1)
}

/** As hosts block a fleet: each is leased once and responds with 429 and Retry-After; one in a hundred does not. */
async function blockHosts({ lanes }, wanted) {
  const blocked = new Set()
  const isOpen = ({ link }) => Number(link.host.slice(8, 13)) % 100 === 0
  const report = progress('hosts blocked', wanted)
  const blockMs = blockMsFor(wanted)
  const until = performance.now() + blockMs / 2
  await Promise.all(
    lanes.map(async (lane) => {
      while (blocked.size < wanted && performance.now() < until) {
        const { leases, idleMs } = await lane.lease()
        if (leases.length === 0) {
          await sleep(idleMs)
          continue
        }
        await lane.release(leases, (lease) =>
          isOpen(lease) ? { kind: 'ok' } : { kind: 'throttled', retryAfterMs: blockMs },
        )
        await lane.settle(leases, () => ({ kind: 'back', afterMs: 0 }))
        for (const lease of leases) if (!isOpen(lease)) blocked.add(lease.link.host)
        report(blocked.size)
      }
    }),
  )
  if (blocked.size < wanted * 0.999) throw new Error(`blocked ${blocked.size} of ${wanted} hosts`)
  return blocked.size
}

/**
 * The filter belongs to the spider and outlives its crawl: with the crawl gone, what is left is the filter. The error is that of the last tenth, when
 * it is fullest.
 */
async function fillBloom(queue, urls) {
  const { server } = queue
  const empty = await server.memory()
  const last = Math.round(urls / 10)
  await addAll(queue, urls - last, BLOOM_HOSTS)
  const wronglyKnown = await addAll(queue, last, BLOOM_HOSTS, urls - last)
  await queue.discard()
  await server.expireNow()
  const result = {
    bloomBytesPerSeen: round(((await server.memory()) - empty) / urls, 2),
    bloomErrorRate: wronglyKnown / last,
  }
  say(`Bloom: ${result.bloomBytesPerSeen} bytes a URL, ${round(result.bloomErrorRate * 100, 3)} % wrongly known`)
  return result
}

function progress(what, total) {
  const step = Math.max(100_000, total / 10)
  let next = step
  return (count) => {
    if (total < 500_000 || count < next) return
    next += step
    say(`${what}: ${count} of ${total}`)
  }
}

function say(text) {
  console.error(`footprint  ${text}`)
}
