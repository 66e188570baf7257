import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import type { CheerioAPI } from 'cheerio'
import { ShoalError } from '../../errors.js'
import { hasTags, mediaTypeOf } from '../../fetch/media-type.js'
import type { PageResult } from '../../fixture/page-result.js'
import type { ShellPage, ShellPages } from '../../run/shell/shell-pages.js'
import { compileHarvest, type FieldDefinition } from '../../spider/fields.js'
import { resolveBase } from '../../spider/html/base-url.js'
import type { Page } from '../../spider/page.js'
import { parseUrl } from '../../url/parse-url.js'
import { examineField } from '../../workbench/examine-field.js'
import { examineFollow } from '../../workbench/examine-follow.js'
import { type Examined, examinedPage } from '../../workbench/examined-page.js'
import type { Style } from '../terminal/style.js'
import { fieldsText, HELP, type JudgedLink, linksText, noLinksText, pageText, resultText } from './shell-view.js'

/** What can be typed at the prompt. Values are ordinary values, for further use; only the way in which they are shown is our own. */
export interface ShellCommands {
  readonly page: Page | undefined
  readonly $: CheerioAPI | undefined
  fetch(url: string | URL): Promise<Page>
  fields(definitions: Readonly<Record<string, FieldDefinition>>): Readonly<Record<string, unknown>>
  links(selector?: string): readonly string[]
  records(): Promise<PageResult>
  view(): string
  help(): unknown
}

interface ShellParts {
  readonly pages: ShellPages
  readonly style: Style
  /** With a spider: its filter judges links, and its routes give records. */
  readonly hasSpider: boolean
  /** Of the command that runs now: Ctrl-C. */
  readonly signal: () => { aborted: boolean }
}

/** `given`: the page that the prompt begins with. */
export function shellCommands(
  { pages, style, hasSpider, signal }: ShellParts,
  given: ShellPage | null = null,
): ShellCommands {
  let current: ShellPage | null = given && shownPage(given)
  let lastExamined: Examined | null = null

  const now = (): ShellPage => {
    if (current === null)
      throw new ShoalError('usage', 'there is no page yet', { hint: "Type fetch('https://…') first." })
    return current
  }
  const examined = (): Examined => {
    const { page } = now()
    if (lastExamined?.page !== page) lastExamined = examinedPage(page, pages.admitter)
    return lastExamined
  }
  function shownPage(fetched: ShellPage): ShellPage {
    return { ...fetched, page: shownAs(fetched.page, () => pageText(fetched, hasSpider, style)) }
  }

  return {
    get page() {
      return current?.page
    },
    get $() {
      return current !== null && hasTags(mediaTypeOf(current.page)) ? current.page.$ : undefined
    },
    async fetch(url) {
      current = shownPage(await pages.fetch(String(url), current?.page.url ?? '', signal()))
      return current.page
    },
    fields(definitions) {
      const reports = Object.entries(definitions).map(([name, definition]) =>
        examineField(name, definition, examined()),
      )
      const values = Object.fromEntries(reports.map(({ name, value }) => [name, value ?? null]))
      return shownAs(values, () => fieldsText(reports, style))
    },
    links(selector = 'a') {
      const { page } = now()
      const found = compileHarvest({ links: [{ select: selector, nofollow: true }] }).run(page)
      const base = resolveBase(found.base, page.url)
      const hrefs = found.links[0] ?? []
      const judged = [...new Map(hrefs.map((href) => judgedLink(href, base)).map((link) => [link.url, link])).values()]
      const urls = judged.map(({ url }) => url)
      if (urls.length > 0) return shownAs(urls, () => linksText(judged, hasSpider, style))
      const rule = { links: selector, nofollow: true, allow: [], deny: [] }
      return shownAs(urls, () => noLinksText(examineFollow(rule, examined()), style))
    },
    async records() {
      if (!hasSpider)
        throw new ShoalError('usage', 'records() needs a spider', { hint: 'Start with: shoal shell <spider> <url>' })
      const result = await pages.records(now())
      return shownAs(result, () => resultText(result, style))
    },
    view() {
      const { page } = now()
      // A folder of its own: names in the folder for temporary files can be guessed.
      const file = join(mkdtempSync(join(tmpdir(), 'shoal-page-')), hasTags(mediaTypeOf(page)) ? 'page.html' : 'page')
      writeFileSync(file, page.body, { mode: 0o600 })
      return file
    },
    help: () => shownAs({}, () => HELP),
  }

  function judgedLink(href: string, base: string): JudgedLink {
    const admission = pages.admitter.resolve(href, base)
    const link = admission.ok ? pages.admitter.link(admission.target, now().link.depth + 1) : admission.refusal
    if (!('code' in link)) return { url: link.url, route: link.route, refusal: null }
    return { url: parseUrl(href, base)?.href ?? href, route: null, refusal: link }
  }
}

/** A value with a text of its own at the prompt. `util.inspect` asks for it; nothing else sees it. */
function shownAs<Value extends object>(value: Value, text: () => string): Value {
  return Object.defineProperty(value, inspect.custom, { value: text, enumerable: false, configurable: true })
}
