import { setTimeout as sleep } from 'node:timers/promises'
import { round } from '../report.js'
import { linkBatches, overLanes } from './links.js'
import { startRedis } from './redis-server.js'
import { openShoal } from './speed.js'

const MASTERS = 3
const SLOTS = 16_384
const HOSTS = 10_000
const CONNECTIONS = 4
const BATCHES = [3, 12]

/**
 * What three masters of a cluster carry, compared with one server. Redis has one thread, so a server carries what its CPU allows, and a cluster what its
 * busiest master allows: links per second of CPU are compared, because the clients and all servers share the cores of this machine.
 */
export async function compareMasters({ urls }) {
  const figures = {}
  for (const batch of BATCHES) {
    const one = await drainOn(1, batch, urls)
    const three = await drainOn(MASTERS, batch, urls)
    figures[batch] = { one: round(one), busiest: round(three), ratio: round(one / three) }
    console.error(
      `masters, batches of ${batch}: CPU µs a link: one server ${round(one)}, the busiest of ${MASTERS} ${round(three)}`,
    )
  }
  return figures
}

/** CPU of the busiest server, µs for each link that the fleet leased, released and settled. */
async function drainOn(masters, batch, urls) {
  const servers = await Promise.all(Array.from({ length: masters }, () => startRedis({ cluster: masters > 1 })))
  try {
    if (masters > 1) await join(servers)
    const queue = await openShoal({ url: servers[0].url, connections: CONNECTIONS, batch })
    await overLanes(queue.lanes, linkBatches(urls, HOSTS), (lane, links) => lane.add(links))
    const cpu = () => Promise.all(servers.map((server) => server.cpuUs()))
    // Every server compiles its scripts at their first call.
    const warm = await queue.drain(urls / 10)
    const before = await cpu()
    const done = await queue.drain(urls - warm)
    const after = await cpu()
    if (warm + done !== urls) throw new Error(`leased and settled ${warm + done} of ${urls} URLs`)
    await queue.close()
    return Math.max(...after.map((us, nth) => us - before[nth])) / done
  } finally {
    for (const server of servers) await server.close()
  }
}

async function join(servers) {
  const share = Math.ceil(SLOTS / servers.length)
  for (const [nth, { control }] of servers.entries()) {
    await control.cluster('ADDSLOTSRANGE', nth * share, Math.min(SLOTS, (nth + 1) * share) - 1)
    await control.cluster('SET-CONFIG-EPOCH', nth + 1)
  }
  for (const { port, busPort } of servers.slice(1)) {
    await servers[0].control.cluster('MEET', '127.0.0.1', port, busPort)
  }
  const ready = async ({ control }) =>
    /cluster_state:ok/.test(await control.cluster('INFO')) && (await control.cluster('SLOTS')).length === servers.length
  while (!(await Promise.all(servers.map(ready))).every(Boolean)) await sleep(100)
}
