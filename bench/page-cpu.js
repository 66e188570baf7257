import { createPage } from '../dist/spider/page.js'
import { spiderFromDefinition } from '../dist/spider/resolve.js'
import { createAdmitter } from '../dist/url/admit.js'
import { LINKS_PER_PAGE, pageHtml, pathOf } from './site.js'

/**
 * CPU per page from the bytes of the body to the record and the resolved links, in one process without network and queue:
 *   node bench/page-cpu.js [pages]
 * The crawl is done once to warm up and then three times with a new filter; the best one counts, because others share the machine.
 */
const PAGES = Number(process.argv[2] ?? 20_000)
const ORIGIN = 'http://127.0.0.1:8123'
const ROUNDS = 3

process.env.BENCH_TASK = JSON.stringify({ origin: ORIGIN, concurrency: 8 })
const spider = spiderFromDefinition((await import('./spider.js')).default)
const route = spider.routes.get('book')
const headers = { 'content-type': 'text/html; charset=utf-8' }
const bodies = Array.from({ length: PAGES }, (_, index) => Buffer.from(pageHtml(index, PAGES)))

function open(index) {
  const url = ORIGIN + pathOf(index)
  const body = bodies[index]
  return createPage({ url, requestedUrl: url, status: 200, headers, body, route: 'book', depth: 1, attempt: 1 })
}

const steps = {
  text: () => (page) => page.text.length,
  'text, harvest': () => (page) => route.harvest(page).links.length,
  'text, harvest, links': () => {
    const admitter = createAdmitter(spider.admit)
    return (page) => {
      const { records, links } = route.harvest(page)
      let admitted = 0
      for (const link of links) if (admitter.resolve(link.href, page.url, link).ok) admitted++
      if (records.length !== 1 || admitted !== LINKS_PER_PAGE) throw new Error(`${page.url} gave too little`)
      return admitted
    }
  },
}

for (const [name, prepare] of Object.entries(steps)) {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round <= ROUNDS; round++) {
    const step = prepare()
    const before = process.cpuUsage()
    for (let index = 0; index < PAGES; index++) step(open(index))
    const { user, system } = process.cpuUsage(before)
    if (round > 0) best = Math.min(best, (user + system) / PAGES)
  }
  console.log(`${name.padEnd(22)} ${best.toFixed(1)} µs of CPU per page`)
}
