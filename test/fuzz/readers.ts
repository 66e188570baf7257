import { clean } from '../../src/cli/terminal/clean.js'
import { maskUrl } from '../../src/config.js'
import { createCsvParser } from '../../src/discovery/csv.js'
import { createListingParser } from '../../src/discovery/listing-parser.js'
import { parseEntry } from '../../src/feed/entry/parse-entry.js'
import { retryAfterIn } from '../../src/politeness/retry-after.js'
import { parseRobots } from '../../src/politeness/robots.js'
import { verdictOfAnswer } from '../../src/proxy/verdict.js'
import { compileHarvest } from '../../src/spider/fields.js'
import { createPage, type Page } from '../../src/spider/page.js'
import {
  createAdmitter,
  DEFAULT_CANONICAL,
  DEFAULT_MAX_DEPTH,
  DEFAULT_MAX_URL_LENGTH,
  DEFAULT_TRAPS,
} from '../../src/url/admit.js'
import { asksForBrowser } from '../../src/worker/needs-browser.js'

const URL = 'https://x.example/list?page=2'

function pageOf(body: Buffer, headers: Readonly<Record<string, string>> = { 'content-type': 'text/html' }): Page {
  return createPage({
    ...{ url: URL, requestedUrl: URL, status: 200, headers, body, route: 'r', depth: 0, attempt: 1, data: undefined },
  })
}

const CONVERSIONS = ['text', 'number', 'integer', 'boolean', 'url', 'html', 'date'] as const
const converted = (select: string) =>
  Object.fromEntries(CONVERSIONS.map((as) => [`${select} ${as}`, { select, as, all: true }] as const))

const scanned = compileHarvest({
  links: [{}],
  fields: { ...converted('.x'), ...converted('time@datetime'), ...converted('a@href') },
})
/** A selector that only the tree can answer. */
const onTree = compileHarvest({ links: [{ select: 'p:first-child a' }], fields: converted('p:last-child') })
const byPath = compileHarvest({ fields: { a: '$.a', b: { path: 'a[*].a', all: true, as: 'number' } } })
const admitter = createAdmitter({
  ...{ hosts: [], allow: [], deny: [], maxDepth: DEFAULT_MAX_DEPTH, maxUrlLength: DEFAULT_MAX_URL_LENGTH },
  ...{ traps: DEFAULT_TRAPS, canonical: DEFAULT_CANONICAL, depthPriority: 0, pace: { per: 'host', groups: [] } },
  routeOf: () => ({ name: 'page', priority: 5 }),
  priorityOf: () => 5,
})

/** Everything that looks at what a site sends. Each may throw: that is an error of one page. */
export const PAGE_READERS: Readonly<Record<string, (body: Buffer) => void>> = {
  'rules on the scanner': (body) => scanned.run(pageOf(body)),
  'rules on the tree': (body) => onTree.run(pageOf(body)),
  'page.$': (body) => pageOf(body).$('p').text(),
  pagination: (body) => pageOf(body).pagination,
  'charset without a header': (body) => pageOf(body, {}).text,
  'whether a browser is needed': (body) =>
    asksForBrowser({ headers: { 'content-type': 'text/html' }, body }, () => pageOf(body).text),
  'whether a proxy is banned': (body) => {
    verdictOfAnswer({ url: URL, status: 403, headers: {}, body, retryAfterMs: null }, null)
    verdictOfAnswer({ url: URL, status: 200, headers: {}, body, retryAfterMs: null }, null)
  },
}

/** What is not a page of HTML. */
export const TEXT_READERS: Readonly<Record<string, (text: string) => void>> = {
  'JSON by path': (text) => byPath.run(pageOf(Buffer.from(text), { 'content-type': 'application/json' })),
  'robots.txt': (text) => parseRobots(text, 'shoal').allows(`/${text.slice(0, 2_000)}`),
  'a sitemap': (text) => {
    const parser = createListingParser(URL)
    parser.write(`<urlset><url><loc>${text}`)
    parser.end()
  },
  'a feed': (text) => {
    const parser = createListingParser(URL)
    parser.write(`<rss><item><pubDate>${text}</pubDate><link>${text}</link></item></rss>`)
    parser.end()
  },
  'a CSV file': (text) => {
    const parser = createCsvParser()
    parser.write(text)
    parser.end()
  },
  'an entry of a feed': (text) => parseEntry(text, () => true),
  'a link': (text) => {
    for (const href of [text, `/${text}`, `?${text}`, `https://x.example/${text}`]) admitter.resolve(href, URL)
  },
  'Retry-After': (text) => retryAfterIn({ 'retry-after': text, date: text }),
  'headers of a page': (text) =>
    scanned.run(pageOf(Buffer.from('<p class=x>1.234</p>'), { 'content-type': text, 'content-language': text })),
  'an address in a log': (text) => maskUrl(`https://x.example/?${text}`),
  'a line of a terminal': (text) => clean(text),
}
