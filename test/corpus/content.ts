import type { SpiderDefinition } from '../../src/spider/definition.js'
import { sitemap } from '../../src/spider/seed-sources.js'
import type { Fixture } from './fixture.js'

/** What pages and files hold. */

const TITLE = {
  routes: { page: { match: '**', record: { kind: 'thing', fields: { title: 'h1' } } } },
} satisfies Partial<SpiderDefinition>

/** The title that a route with fields reads from the page. */
function titled(number: number, path: string, expected: string): Fixture {
  return {
    number,
    name: path,
    expected,
    async run({ site, crawl }) {
      const { outcome, records } = await crawl(site.origin + path, { definition: TITLE })
      const [record] = records
      return record === undefined ? outcome : String((record.data as { title?: unknown }).title)
    },
  }
}

/** The JSON of the page as it stands, stored as a record. */
function stored(path: string, expected: string): Fixture {
  return {
    number: 60,
    name: path,
    expected,
    async run({ site, crawl }) {
      const { outcome, records } = await crawl(site.origin + path, {
        definition: {
          routes: {
            page: {
              match: '**',
              handler: (page, out) => out.record('thing', 'one', page.json as Record<string, unknown>),
            },
          },
        },
      })
      const polluted = 'polluted' in {}
      const data = records[0]?.data as Record<string, unknown> | undefined
      return `${outcome}, ${data === undefined ? 'not stored' : `name ${String(data.name)}`}, polluted ${polluted}`
    },
  }
}

function listing(name: string, path: string, expected: string): Fixture {
  return {
    number: 59,
    name,
    expected,
    async run({ site, crawl }) {
      const { outcome, links } = await crawl('', { definition: { seeds: [sitemap(site.origin + path)] } })
      const paths = links.map(({ url }) => new URL(url).pathname)
      return `${outcome}, ${paths.length === 0 ? 'no links' : paths.join()}`
    },
  }
}

export const CONTENT: readonly Fixture[] = [
  titled(57, '/gbk', '中文'),
  titled(57, '/meta-lies', 'café'),
  titled(57, '/header-lies', 'café'),
  titled(57, '/utf-16', 'café'),
  titled(57, '/utf-7', '+AGEAYg-'),
  titled(57, '/invalid-utf-8', 'a\ufffdb\ufffd'),
  titled(58, '/nested', 'html_too_complex → dead'),
  titled(58, '/nested-inline', 'html_too_complex → dead'),
  titled(58, '/unclosed', 'open'),
  titled(58, '/attribute', 'wide'),
  titled(58, '/attributes', 'many'),
  titled(58, '/foreign', 'foreign'),
  listing('entity bomb in a sitemap', '/entities.xml', 'http_error → dead, /start&a9;'),
  listing('gzip bomb as a sitemap', '/bomb.xml.gz', 'seeds_unreadable → stop, no links'),
  listing('an index that lists itself', '/itself.xml', 'nothing, no links'),
  stored('/json-ld', 'page, name thing, polluted false'),
  stored('/json-number', 'page, name thing, polluted false'),
]
