import { linkBatches, overLanes, shuffledBatches } from '../frontier/links.js'
import { startRedis } from '../frontier/redis-server.js'
import { CONNECTIONS, openShoal } from '../frontier/speed.js'

const URLS = 200_000
/** Two counts of hosts tell what a URL takes from what a host takes. */
const MANY_HOSTS = 20_000
const FEW_HOSTS = 2_000
/** Two sizes of a call tell what a URL costs from what a call costs. */
const FULL_CALL = 100
const SMALL_CALL = 4
/** With small calls there are 25 times as many of them. */
const SMALL_SHARE = 0.1
/** A visit takes a call to lease, one to release and one to settle. */
const CALLS_OF_A_VISIT = 3

/** CPU and memory of redis-server for a URL, from the driver that workers use. */
export async function measureRedis() {
  const many = await fillAndDrain({ urls: URLS, hosts: MANY_HOSTS, batch: FULL_CALL })
  const few = await fillAndDrain({ urls: URLS, hosts: FEW_HOSTS, batch: FULL_CALL })
  const small = await fillAndDrain({ urls: URLS * SMALL_SHARE, hosts: FEW_HOSTS, batch: SMALL_CALL })
  const add = split(few.addUs, small.addUs)
  const known = split(few.knownUs, small.knownUs)
  const visit = split(few.visitUs, small.visitUs)
  const bytesPerHost = (many.seenBytes - few.seenBytes) / (MANY_HOSTS - FEW_HOSTS)
  return {
    usPerCall: (add.call + known.call + visit.call) / (2 + CALLS_OF_A_VISIT),
    usPerAdded: add.url,
    usPerKnown: known.url,
    usPerVisit: visit.url,
    bytesPerQueued: (few.queuedBytes - few.seenBytes) / URLS,
    bytesPerSeen: (few.seenBytes - FEW_HOSTS * bytesPerHost) / URLS,
    bytesPerHost,
  }
}

/** A URL in a call of n costs url + call / n. */
function split(full, small) {
  const call = (small - full) / (1 / SMALL_CALL - 1 / FULL_CALL)
  return { call, url: full - call / FULL_CALL }
}

async function fillAndDrain({ urls, hosts, batch }) {
  const server = await startRedis()
  try {
    const queue = await openShoal({ port: server.port, url: server.url, connections: CONNECTIONS, batch })
    const cpuUs = async (work) => {
      const before = await server.cpuUs()
      await work()
      return ((await server.cpuUs()) - before) / urls
    }
    const batches = [...linkBatches(urls, hosts, { size: batch })]
    const addAll = (all) => overLanes(queue.lanes, all, (lane, links) => lane.add(links))
    const empty = await server.memory()
    const addUs = await cpuUs(() => addAll(batches))
    const queuedBytes = (await server.memory()) - empty
    const again = shuffledBatches(batches)
    const knownUs = await cpuUs(() => addAll(again))
    let done = 0
    const visitUs = await cpuUs(async () => {
      done = await queue.drain(urls)
    })
    if (done !== urls) throw new Error(`leased and settled ${done} of ${urls} URLs`)
    await server.expireNow()
    const seenBytes = (await server.memory()) - empty
    await queue.close()
    console.error(
      `redis  ${urls} URLs on ${hosts} hosts, ${batch} a call: add ${addUs.toFixed(1)} µs, visit ${visitUs.toFixed(1)} µs`,
    )
    return { addUs, knownUs, visitUs, queuedBytes, seenBytes }
  } finally {
    await server.close()
  }
}
