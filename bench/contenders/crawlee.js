import { CheerioCrawler, Configuration, LogLevel, log } from '@crawlee/cheerio'
import { digestOf } from '../site.js'

// As fast as its documentation allows: nothing written to disk, no sessions, concurrency fixed.
const { origin, concurrency } = JSON.parse(process.argv[2])
log.setLevel(LogLevel.OFF)
const config = new Configuration({ persistStorage: false, purgeOnStart: false })
const records = []
const crawler = new CheerioCrawler(
  {
    minConcurrency: concurrency,
    maxConcurrency: concurrency,
    useSessionPool: false,
    persistCookiesPerSession: false,
    async requestHandler({ $, enqueueLinks }) {
      records.push({ title: $('h1').text(), price: Number($('.price').text().slice(1)), sku: $('.sku').text() })
      await enqueueLinks()
    },
  },
  config,
)
const { requestsFinished } = await crawler.run([`${origin}/`])
console.log(JSON.stringify({ pages: requestsFinished, digest: digestOf(records) }))
