import { compileHarvest } from '../../src/spider/fields.js'
import { parseSelector } from '../../src/spider/html/selector.js'
import { createPage, type Page } from '../../src/spider/page.js'
import { parseUrl } from '../../src/url/parse-url.js'
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
  return {
    fields: readFields(page),
    scanner: joined(scannable.scanned(page.text) ?? {}),
    tree: joined(all.onTree(page.text)),
    'page.$': readDom(page),
  }
}

function readFields(page: Page): Answers {
  const found = harvester.run(page)
  const links = (found.fields.links ?? []) as readonly (string | null)[]
  return {
    encoding: page.encoding,
    base: found.base === null ? page.url : (parseUrl(found.base, page.url)?.href ?? page.url),
    links: list(links.filter((href) => href !== null)),
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
