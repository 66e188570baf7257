import { createHash } from 'node:crypto'

/** When the first version of each record was scraped; later versions come two hours apart, outside of the freshness window. */
const BEGAN = Date.now()
const VERSION_MS = 2 * 3_600_000
const HOUR_MS = 3_600_000
const SITES = 100
const SPIDER = 'bench'
const KIND = 'product'
const CRAWL = '01J9ZQK5T8E3W6Y1N4B7C2D0F9'

const WORDS =
  'amber anchor atlas barometer basket bell blanket compass copper garden harbour journal kettle lantern'.split(' ')

/** Keys come in no order, as the pages of a site do. The server generates the same ones: substr(md5(n::text), 1, 16). */
function keyOf(n) {
  return createHash('md5').update(String(n)).digest('hex').slice(0, 16)
}

/** A product of about `bytes` bytes of JSON. */
function dataOf(n, version, bytes = 1_024) {
  const word = (i) => WORDS[(n * 7 + i * 5 + version) % WORDS.length]
  const data = {
    sku: keyOf(n),
    version,
    title: `The ${word(1)} & the ${word(2)}, volume ${n}`,
    price: (100 + ((n * 7919 + version * 37) % 99_900)) / 100,
    currency: 'EUR',
    available: n % 3 > 0,
    stock: n % 40,
    rating: { value: (n % 50) / 10, count: n % 1_000 },
    tags: [word(3), word(4), word(5)],
    images: [1, 2].map((i) => `https://img.shop${n % SITES}.example/${keyOf(n)}/${i}.jpg`),
    description: '',
  }
  const room = bytes - JSON.stringify(data).length
  let description = ''
  for (let i = 0; description.length < room; i++) description += `${word(i)} ${word(i * 3 + 1)}, `
  data.description = description.slice(0, Math.max(0, room))
  return data
}

export function recordOf(n, version, bytes) {
  const site = `shop${n % SITES}.example`
  return {
    spider: SPIDER,
    site,
    kind: KIND,
    key: keyOf(n),
    url: `https://${site}/catalogue/${WORDS[n % WORDS.length]}-${n}/index.html`,
    data: dataOf(n, version.content, bytes),
    crawl: CRAWL,
    gen: 1,
    epoch: String(1 + version.lease),
    scrapedAt: BEGAN + version.lease * VERSION_MS,
    freshMs: HOUR_MS,
    identity: null,
    history: false,
  }
}

export function fetchOf(record) {
  const { spider, crawl, gen, epoch, url, site, key, scrapedAt } = record
  return {
    ...{ spider, crawl, gen, epoch, fp: key, url, host: site, route: 'product', depth: 3, link: null, status: 200 },
    ...{
      bytes: 10_240,
      ms: 12.5,
      attempt: 1,
      worker: 'bench-1-a7',
      error: null,
      page: null,
      headers: null,
      pool: null,
    },
    at: scrapedAt,
  }
}

/**
 * The batches of one step. `lease`: which visit of the pages this is; `content`: which version of them it finds. `pick` maps a
 * position to the number of its record.
 */
export function batchesOf({ count, batch, lease, content, fetches = false, pick = (i) => i, bytes }) {
  const batches = []
  for (let from = 0; from < count; from += batch) {
    const records = []
    for (let i = from; i < Math.min(count, from + batch); i++)
      records.push(recordOf(pick(i), { lease, content }, bytes))
    batches.push({ records, rejected: [], fetches: fetches ? records.map(fetchOf) : [] })
  }
  return batches
}
