import { createHash } from 'node:crypto'

export const BATCH = 100

const SLUG = 'a-product-with-a-name-of-its-own'

/** URL number `index` of a site of `hosts` hosts: 79 characters on the mean; `run` neighbours are on the same host. */
export function makeLink(index, hosts, run = 1) {
  const host = `www.shop${String(Math.floor(index / run) % hosts).padStart(5, '0')}.example`
  const slug = SLUG.slice(0, 9 + ((index * 7) % 21))
  const url = `https://${host}/catalogue/${slug}_${String(index).padStart(8, '0')}/index.html`
  const fp = createHash('sha1').update(url).digest('hex').slice(0, 16)
  return { url, fp, host, route: 'product', depth: 2, priority: 0 }
}

/** Batches of links from `from` on, made when they are asked for. */
export function* linkBatches(count, hosts, { from = 0, run = 1 } = {}) {
  for (let start = from; start < from + count; start += BATCH) {
    const length = Math.min(BATCH, from + count - start)
    yield Array.from({ length }, (_, nth) => makeLink(start + nth, hosts, run))
  }
}

/** Several lanes take from one source until it is empty. */
export async function overLanes(lanes, source, work) {
  const items = source[Symbol.iterator]()
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = items.next(); !item.done; item = items.next()) await work(lane, item.value)
    }),
  )
}
