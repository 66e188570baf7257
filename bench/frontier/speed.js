import { median } from '../measure.js'
import { round } from '../report.js'
import { openBullmq } from './bullmq.js'
import { linkBatches, overLanes, shuffledBatches } from './links.js'
import { openPipelinedSadd } from './pipelined-sadd.js'
import { startRedis } from './redis-server.js'
import { openScrapyRedis } from './scrapy-redis.js'

export const HOSTS = 10_000
export const CONNECTIONS = 4

/**
 * `share` of the URLs: slow contenders get fewer, the figures are per URL. The links of a batch are on 100 different hosts, which is the hardest load
 * for a queue that separates hosts; the links of pages come in runs of one host, as with `run`. A polite crawl sends 2–3 links a call (`batch`): there the
 * fixed cost of a call is what counts.
 */
const CONTENDERS = {
  'pipelined-sadd': { open: openPipelinedSadd, share: 1 },
  'scrapy-redis-pattern': { open: openScrapyRedis, share: 1 / 5 },
  bullmq: { open: openBullmq, share: 1 / 2 },
  'shoal-redis': { open: openShoal, share: 1 },
  'shoal-redis, runs of 10': { open: openShoal, share: 1, run: 10 },
  'shoal-redis, batches of 30': { open: openShoal, share: 1 / 4, batch: 30 },
  'shoal-redis, batches of 3': { open: openShoal, share: 1 / 10, batch: 3 },
  'shoal-redis, no release': { open: (options) => openShoal({ ...options, releases: false }), share: 1 },
  'shoal-redis+aof': { open: openShoal, share: 1, appendonly: true },
}

export const SPEED_CONTENDERS = Object.keys(CONTENDERS)

/** URLs per second, CPU of the server per URL and bytes per URL, for each contender in turn on its own server. */
export async function compareSpeed({ urls, rounds, names }) {
  const samples = new Map(names.map((name) => [name, []]))
  for (let nth = 1; nth <= rounds; nth++) {
    for (const name of names) {
      const contender = CONTENDERS[name]
      const sample = await measureOne(contender, [
        ...linkBatches(Math.round(urls * contender.share), HOSTS, { run: contender.run, size: contender.batch }),
      ])
      samples.get(name).push(sample)
      console.error(`round ${nth} of ${rounds}  ${name.padEnd(26)} ${describe(sample)}`)
    }
  }
  return Object.fromEntries([...samples].map(([name, all]) => [name, medians(all)]))
}

async function measureOne({ open, appendonly, run, batch }, batches) {
  const urls = batches.reduce((sum, batch) => sum + batch.length, 0)
  const server = await startRedis({ appendonly })
  try {
    const queue = await open({ port: server.port, url: server.url, connections: CONNECTIONS, batch })
    const timed = async (work) => {
      const cpu = await server.cpuUs()
      const from = performance.now()
      await work()
      const seconds = (performance.now() - from) / 1_000
      return { perSecond: urls / seconds, cpuUs: ((await server.cpuUs()) - cpu) / urls }
    }
    const mustBe = (number, what) => {
      if (number !== urls) throw new Error(`${what} ${number} of ${urls} URLs`)
    }
    const addAll = (all) => overLanes(queue.lanes, all, (lane, batch) => lane.add(batch))
    const again = shuffledBatches(batches, run)

    const empty = await server.memory()
    const add = await timed(() => addAll(batches))
    mustBe(await queue.pending(), 'added')
    const full = await server.memory()
    const duplicate = await timed(() => addAll(again))
    mustBe(await queue.pending(), 'after all were added again there are')
    const sample = {
      addPerSecond: add.perSecond,
      duplicatePerSecond: duplicate.perSecond,
      redisCpuUsPerAdd: add.cpuUs,
      redisCpuUsPerDuplicate: duplicate.cpuUs,
      bytesPerPending: (full - empty) / urls,
    }
    if (queue.drain !== undefined) {
      let done = 0
      const taken = await timed(async () => {
        done = await queue.drain(urls)
      })
      mustBe(done, 'leased and settled')
      sample.leaseSettlePerSecond = taken.perSecond
      sample.redisCpuUsPerLeaseSettle = taken.cpuUs
      await server.expireNow()
      if (queue.remembers !== false) sample.bytesPerSeen = ((await server.memory()) - empty) / urls
    }
    await queue.close()
    return sample
  } finally {
    await server.close()
  }
}

/** Loaded on demand: the contenders can be measured without a build of the driver. */
export async function openShoal(options) {
  const { openShoalRedis } = await import('./shoal-redis.js')
  return openShoalRedis(options)
}

function medians(samples) {
  return Object.fromEntries(
    Object.keys(samples[0]).map((key) => [
      key,
      round(median(samples.map((sample) => sample[key])), key.endsWith('PerSecond') ? 0 : 2),
    ]),
  )
}

function describe(sample) {
  const cpu = (value) => (value === undefined ? '–' : value.toFixed(2))
  return `Redis CPU µs: add ${cpu(sample.redisCpuUsPerAdd)}, duplicate ${cpu(sample.redisCpuUsPerDuplicate)}, lease+settle ${cpu(sample.redisCpuUsPerLeaseSettle)}`
}
