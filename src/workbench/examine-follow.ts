import type { ErrorCode } from '../errors.js'
import { collectOf, compileFollow } from '../spider/compile-extract.js'
import { compileHarvest } from '../spider/fields.js'
import { resolveBase } from '../spider/html/base-url.js'
import { parseSelector } from '../spider/html/selector.js'
import type { DeclaredFollow, FoundLink } from '../spider/spider.js'
import { noMatch } from './examine-field.js'
import type { Examined } from './examined-page.js'
import { NO_SUGGESTION, type RuleProblem } from './rule-problem.js'

/** What a follow rule finds on a page. */
export interface FollowReport {
  readonly selector: string
  /** The route that it names; null: the first that matches. */
  readonly route: string | null
  /** Elements that match. */
  readonly matches: number
  /** Different links that a crawl would queue. */
  readonly accepted: number
  /** Links that it would not, by reason: `nofollow`, the rule's own `patterns`, or an error code of the filter. */
  readonly rejected: Readonly<Partial<Record<'nofollow' | 'patterns' | ErrorCode, number>>>
  readonly problem: RuleProblem | null
}

export function examineFollow(rule: DeclaredFollow, examined: Examined): FollowReport {
  const { page, queries, admitter } = examined
  const { css, attribute } = parseSelector(rule.links)
  const about = { selector: rule.links, route: rule.route ?? null }
  const nothing = { matches: 0, accepted: 0, rejected: {} }
  if (queries === null) {
    const message = examined.noTree ?? ''
    return { ...about, ...nothing, problem: { code: 'wrong_type', message, ...NO_SUGGESTION } }
  }
  const matched = queries.matching(css)
  if (matched.length === 0) return { ...about, ...nothing, problem: noMatch(rule.links, examined) }

  const found = compileHarvest({ links: [{ select: rule.links, nofollow: rule.nofollow }] }).run(page)
  const every = compileHarvest({ links: [{ select: rule.links, nofollow: true }] }).run(page)
  const hrefs = found.nofollow && !rule.nofollow ? [] : (found.links[0] ?? [])
  const all = every.links[0] ?? []
  const collected: FoundLink[] = []
  const base = found.base === null ? null : resolveBase(found.base, page.url)
  collectOf(compileFollow('', rule), hrefs, page.url, base, collected)
  const rejected: Record<string, number> = {}
  const reject = (why: string, by = 1) => {
    if (by > 0) rejected[why] = (rejected[why] ?? 0) + by
  }
  reject('nofollow', all.length - hrefs.length)
  reject('patterns', hrefs.length - collected.length)
  const seen = new Set<string>()
  for (const link of collected) {
    const judged = admitter.resolve(link.href, page.url, link)
    const target = judged.ok ? admitter.link(judged.target, page.depth + 1, link) : judged.refusal
    if ('code' in target) reject(target.code)
    else seen.add(target.fp)
  }
  const wanted = attribute ?? 'href'
  const problem: RuleProblem | null =
    all.length > 0
      ? null
      : {
          code: 'no_attribute',
          message: `none of them has the attribute \`${wanted}\``,
          ...linksInside(css, queries),
        }
  return { ...about, matches: matched.length, accepted: seen.size, rejected, problem }
}

/** A rule that selects the boxes around the links. */
function linksInside(
  css: string,
  queries: NonNullable<Examined['queries']>,
): Pick<RuleProblem, 'suggestion' | 'suggestionMatches'> {
  const inside = `:is(${css}) a[href]`
  const suggestionMatches = queries.select(inside).length
  if (suggestionMatches === 0) return NO_SUGGESTION
  return { suggestion: css.includes(',') ? inside : `${css} a[href]`, suggestionMatches }
}
