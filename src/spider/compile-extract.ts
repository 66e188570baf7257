import { ShoalError } from '../errors.js'
import { isAbsolute } from '../url/base.js'
import type { Json } from '../url/link.js'
import { parseUrl } from '../url/parse-url.js'
import { matchUrl, type UrlPattern } from '../url/patterns.js'
import { compilePatterns } from './admit-rules.js'
import type { CheckedRoute } from './definition-schema.js'
import { compileEach, type EachReader } from './each.js'
import { compileHarvest, type Found, type Harvester, type LinkRule } from './fields.js'
import { resolveBase } from './html/base-url.js'
import type { Rule } from './html/program.js'
import { readRefresh } from './html/refresh.js'
import type { Page } from './page.js'
import { MARKDOWN_RULES, pageMarkdown } from './page-markdown.js'
import { pageSummary, SUMMARY_RULES } from './page-summary.js'
import type { HandlerPlan } from './run-handler.js'
import type { DeclaredFollow, FoundLink } from './spider.js'

export interface FollowRule {
  readonly link: (href: string) => FoundLink
  readonly nofollow: boolean
  readonly allow: readonly UrlPattern[]
  readonly deny: readonly UrlPattern[]
}

/** The follow rules and fields of a route as one function; null if it has neither. */
export function compileExtract(name: string, route: CheckedRoute): HandlerPlan['extract'] {
  const { follow, record } = route
  if (follow.length === 0 && record === undefined) return null
  const path = `routes.${name}`
  const links: LinkRule[] = follow.map((rule) => ({ select: rule.links, nofollow: rule.nofollow }))
  for (const [index, rule] of links.entries()) {
    named(`${path}.follow[${index}].links`, () => compileHarvest({ links: [rule] }))
  }
  const each = record === undefined ? null : compileRecord(`${path}.record`, record)
  const fields = each === null ? (record?.fields ?? {}) : {}
  const contents = record?.contents === undefined ? null : CONTENTS[record.contents]
  const more = contents?.rules ?? []
  const harvester = compileHarvest({ links, fields, more })
  let fieldsOnly: Harvester | null = null
  const rules = follow.map((rule, index) => compileFollow(`${path}.follow[${index}]`, rule))
  return (page, collected) => {
    let found: Found | null = null
    if (collected !== null && (rules.length > 0 || each === null)) {
      found = harvester.run(page)
      if (rules.length > 0) collected.linksByRule = collectLinks(rules, found, page, collected.links)
    }
    if (each !== null) return each(page)
    if (record === undefined) return NO_RECORDS
    if (found === null) {
      fieldsOnly ??= compileHarvest({ fields, more })
      found = fieldsOnly.run(page)
    }
    const { fields: own } = found
    if (contents === null) return [own]
    const read = contents.read(page, found)
    return read instanceof Promise ? read.then((late) => [{ ...late, ...own }]) : [{ ...read, ...own }]
  }
}

/** What `record.contents` stores of a page, in addition to the fields. */
interface Contents {
  /** Read in the same pass as the links. */
  readonly rules: readonly Rule[]
  read(page: Page, found: Found): Readonly<Record<string, Json>> | Promise<Readonly<Record<string, Json>>>
}

const CONTENTS: Readonly<Record<NonNullable<NonNullable<CheckedRoute['record']>['contents']>, Contents>> = {
  text: { rules: SUMMARY_RULES, read: (page, { more, base }) => pageSummary(page, more, base) },
  markdown: { rules: MARKDOWN_RULES, read: (page, { more, base }) => pageMarkdown(page, more, base) },
}

const NO_RECORDS: readonly [] = []

/** Reports which field is wrong. Gives the reader of a record with `each`; null: the fields are those of the page. */
function compileRecord(path: string, { each, fields }: NonNullable<CheckedRoute['record']>): EachReader | null {
  if (each !== undefined) named(`${path}.each`, () => compileEach(each, {}))
  for (const [field, definition] of Object.entries(fields ?? {})) {
    const one = { [field]: definition }
    named(`${path}.fields.${field}`, () =>
      each === undefined ? compileHarvest({ fields: one }) : compileEach(each, one),
    )
  }
  return each === undefined ? null : compileEach(each, fields ?? null)
}

export function compileFollow(path: string, rule: DeclaredFollow): FollowRule {
  return {
    link: linkMaker(rule.route, rule.priority),
    nofollow: rule.nofollow,
    allow: compilePatterns(`${path}.allow`, rule.allow),
    deny: compilePatterns(`${path}.deny`, rule.deny),
  }
}

function collectLinks(rules: readonly FollowRule[], found: Found, page: Page, collected: FoundLink[]): number[] {
  // Parsing costs more than finding, so links stay unparsed if the page's own URL is their base.
  const base = found.base === null ? null : resolveBase(found.base, page.url)
  const linksByRule: number[] = []
  for (let index = 0; index < rules.length; index++) {
    const rule = rules[index] as FollowRule
    const before = collected.length
    linksByRule.push(0)
    if (found.nofollow && !rule.nofollow) continue
    collectOf(rule, found.links[index] as readonly string[], page.url, base, collected)
    linksByRule[index] = collected.length - before
  }
  if (!found.nofollow) collectRefreshes(found, page, base, collected)
  return linksByRule
}

/** The links of one rule. `base`: that of the page's base element; null: it has none, and links resolve against `pageUrl`. */
export function collectOf(
  rule: FollowRule,
  hrefs: readonly string[],
  pageUrl: string,
  base: string | null,
  collected: FoundLink[],
): void {
  const judged = rule.allow.length > 0 || rule.deny.length > 0
  for (const href of hrefs) {
    if (base === null && !judged) {
      collected.push(rule.link(href))
      continue
    }
    const url = parseUrl(href, base ?? pageUrl)
    // What cannot be parsed is left to the filter, which counts its refusals; but the filter does not know the base, and `a` leads nowhere from `mailto:`.
    if (url === null ? base !== null && !isAbsolute(href) : judged && !passes(rule, url)) continue
    collected.push(rule.link(base === null || url === null ? href : url.href))
  }
}

/** A header is read before the page, so the page's base element does not apply to it. */
function collectRefreshes(found: Found, page: Page, base: string | null, collected: FoundLink[]): void {
  const { refresh } = page.headers
  const target = refresh === undefined ? null : readRefresh(refresh)
  if (target !== null) collected.push({ href: target })
  for (const href of found.refreshes) {
    collected.push({ href: (base === null ? null : parseUrl(href, base))?.href ?? href })
  }
}

/** Written out: a spread would cost more than everything else that is done for a link here. */
function linkMaker(route: string | undefined, priority: number | undefined): FollowRule['link'] {
  if (route !== undefined) {
    return priority === undefined ? (href) => ({ href, route }) : (href) => ({ href, route, priority })
  }
  return priority === undefined ? (href) => ({ href }) : (href) => ({ href, priority })
}

function passes(rule: FollowRule, url: URL): boolean {
  return (rule.allow.length === 0 || matchUrl(rule.allow, url)) && !matchUrl(rule.deny, url)
}

/** Says which option has a wrong selector or field. */
function named(path: string, compile: () => unknown): void {
  try {
    compile()
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    throw new ShoalError(error.code, `${path}: ${error.message.replace(/^field [^:]*: /, '')}`, {
      hint: error.hint,
      cause: error,
    })
  }
}
