import { createHash } from 'node:crypto'
import Redis from 'ioredis'

const SEEN = 'bench:dupefilter'
const REQUESTS = 'bench:requests'

/**
 * What scrapy-redis 0.9 sends with its defaults, RFPDupeFilter and SpiderPriorityQueue: one SADD per URL, one ZADD per new one, one transaction per
 * pop. A popped URL is gone: no acknowledgement, no rate limits per host.
 */
export async function openScrapyRedis({ port, connections }) {
  const clients = Array.from({ length: connections }, () => new Redis(port, '127.0.0.1'))
  return {
    lanes: clients.map((client) => ({
      async add(links) {
        for (const { url } of links) {
          const fingerprint = createHash('sha1').update(url).digest('hex')
          if ((await client.sadd(SEEN, fingerprint)) === 1) await client.zadd(REQUESTS, 0, requestOf(url))
        }
      },
    })),
    pending: () => clients[0].zcard(REQUESTS),
    async drain(total) {
      let done = 0
      await Promise.all(
        clients.map(async (client) => {
          while (done < total) {
            const [[, popped]] = await client.multi().zrange(REQUESTS, 0, 0).zremrangebyrank(REQUESTS, 0, 0).exec()
            if (popped.length === 0) break
            done++
          }
        }),
      )
      return done
    },
    async close() {
      for (const client of clients) client.disconnect()
    },
  }
}

/** The fields of Scrapy's request_to_dict. JSON is about as long as the pickle. */
function requestOf(url) {
  return JSON.stringify({
    url,
    callback: 'parse',
    errback: null,
    headers: {},
    method: 'GET',
    body: '',
    cookies: {},
    meta: { depth: 2 },
    encoding: 'utf-8',
    priority: 0,
    dont_filter: false,
    flags: [],
    cb_kwargs: {},
  })
}
