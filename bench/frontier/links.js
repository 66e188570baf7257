import { createHash } from 'node:crypto'

/** Links of a call, where nothing else is said. */
export const BATCH = 100

const SLUG = 'a-product-with-a-name-of-its-own'

/** URL number `index` of a site of `hosts` hosts: 79 characters on average; `run` neighbours are on the same host. */
export function makeLink(index, hosts, run = 1) {
  const host = `www.shop${String(Math.floor(index / run) % hosts).padStart(5, '0')}.example`
  const slug = SLUG.slice(0, 9 + ((index * 7) % 21))
  const url = `https://${host}/catalogue/${slug}_${String(index).padStart(8, '0')}/index.html`
  const fp = createHash('sha1').update(url).digest('hex').slice(0, 16)
  return { url, fp, host, route: 'product', depth: 2, priority: 0 }
}

/** Batches of links starting at `from`, generated on demand. */
export function* linkBatches(count, hosts, { from = 0, run = 1, size = BATCH } = {}) {
  for (let start = from; start < from + count; start += size) {
    const length = Math.min(size, from + count - start)
    yield Array.from({ length }, (_, nth) => makeLink(start + nth, hosts, run))
  }
}

/** The same links again, in batches, as a crawl would find them again: in no order, but runs of one host stay together. */
export function shuffledBatches(batches, run = 1) {
  const size = batches[0].length
  const links = batches.flat()
  const runs = Array.from({ length: Math.ceil(links.length / run) }, (_, nth) =>
    links.slice(nth * run, (nth + 1) * run),
  )
  let state = 1
  for (let last = runs.length - 1; last > 0; last--) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    ;[runs[last], runs[other]] = [runs[other], runs[last]]
  }
  const mixed = runs.flat()
  return Array.from({ length: Math.ceil(mixed.length / size) }, (_, nth) => mixed.slice(nth * size, (nth + 1) * size))
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
