import { defineSpider } from '../dist/index.js'

const { origin, pages } = JSON.parse(process.env.BENCH_TASK)
const { host } = new URL(origin)

const BLOCKS =
  'address, article, aside, blockquote, br, dd, div, dl, dt, figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hr, li, main, nav, ol, option, p, pre, section, table, td, th, tr, ul'

// What `shoal crawl` stored before it had a scanner for it: the same record, from a tree.
export default defineSpider({
  name: 'bench-docs',
  start: [`${origin}/`],
  scope: { hosts: [host] },
  allowPrivate: [host],
  pace: { delay: '0ms' },
  budget: { pages },
  records: { page: { fresh: 0 } },
  routes: {
    page: {
      match: '**',
      follow: [{ links: 'a[href]' }],
      handler({ $, url, status }, out) {
        $('script, style, noscript, template').remove()
        $(BLOCKS).before(' ').after(' ')
        const links = $('a[href]')
          .map((_, element) => (URL.canParse(element.attribs.href, url) ? new URL(element.attribs.href, url).href : ''))
          .get()
        out.record('page', url, {
          url,
          status,
          title: $('title').first().text().trim(),
          text: $('body').text().replace(/\s+/g, ' ').trim().slice(0, 5_000),
          links: [...new Set(links)],
        })
      },
    },
  },
})
