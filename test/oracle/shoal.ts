import { defineSpider } from '../../src/spider/definition.js'
import { compileHarvest } from '../../src/spider/fields.js'
import { resolveBase } from '../../src/spider/html/base-url.js'
import { parseSelector } from '../../src/spider/html/selector.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import type { FoundLink, Harvest, Route } from '../../src/spider/spider.js'
import { createAdmitter } from '../../src/url/admit.js'
import { compareFor } from '../spider/html/compare.js'
import { type Answers, type Document, SELECTORS, SEPARATOR } from './answers.js'

/** What Shoal answers, by each of its ways to read a page. They must agree with each other as well as with the browser. */
export type Ways = Readonly<Record<'fields' | 'scanner' | 'tree' | 'page.$', Answers>>

const list = (values: readonly string[]) => values.join(SEPARATOR)
const scannable = compareFor(SELECTORS.filter((css) => parseSelector(css).chains !== null))
const all = compareFor(SELECTORS)
const harvester = compileHarvest({
  links: [{ select: 'a[href]', nofollow: true }],
  fields: {
    links: { select: 'a[href]@href', as: 'url', all: true },
  },
})

const spider = spiderFromDefinition(
  defineSpider({
    name: 'oracle',
    start: ['http://127.0.0.1/'],
    scope: { hosts: ['*'] },
    routes: { page: { match: '**', follow: [{ links: 'a[href]', nofollow: true }] } },
  }),
)
const [route] = [...spider.routes.values()] as [Route]
const admitter = createAdmitter(spider.admit)

/** What a crawl would fetch for these links; '' for what the filter drops. Text that is no web address is left out. */
export function followed(links: readonly Pick<FoundLink, 'href'>[], base: string): string {
  const urls: string[] = []
  for (const { href } of links) {
    const admission = admitter.resolve(href, base)
    if (admission.ok) urls.push(admission.target.url)
    else if (admission.refusal.code !== 'bad_url' && admission.refusal.code !== 'bad_scheme') urls.push('')
  }
  return list(urls)
}

/** Parsed as XML, for which there is neither the scanner nor the tree of HTML. */
const XHTML = 'application/xhtml+xml'

export function readWithShoal(document: Document, url: string): Ways {
  const page = createPage({
    url,
    requestedUrl: url,
    status: 200,
    headers: document.contentType === null ? {} : { 'content-type': document.contentType },
    body: document.body,
    route: 'page',
    depth: 0,
    attempt: 1,
    data: null,
  })
  const html = document.contentType !== XHTML
  return {
    fields: readFields(page),
    scanner: joined((html ? scannable.scanned(page.text) : null) ?? {}),
    tree: joined(html ? all.onTree(page.text) : {}),
    'page.$': readDom(page),
  }
}

function readFields(page: Page): Answers {
  const found = harvester.run(page)
  const links = (found.fields.links ?? []) as readonly (string | null)[]
  return {
    encoding: page.encoding,
    base: resolveBase(found.base, page.url),
    links: list(links.filter((href) => href !== null)),
    followed: followed((route.harvest(page) as Harvest).links, page.url),
  }
}

function readDom({ $ }: Page): Answers {
  const answers: Record<string, string> = { text: $('body').first().text() }
  for (const css of SELECTORS)
    answers[`css ${css}`] = list(
      $(css)
        .map((_, element) => $(element).text())
        .get(),
    )
  answers.attributes = list(
    $('*')
      .map((_, element) =>
        Object.entries($(element).attr() ?? {})
          .map(([name, value]) => `${name.toLowerCase()}=${value}`)
          .join(' '),
      )
      .get(),
  )
  return answers
}

function joined(found: Readonly<Record<string, string[]>>): Answers {
  return Object.fromEntries(Object.entries(found).map(([css, values]) => [`css ${css}`, list(values)]))
}
