import type { Page } from '../spider/page.js'
import type { Route } from '../spider/spider.js'
import type { Admitter } from '../url/admit.js'
import { type EachReport, examineEach, examineEachField } from './examine-each.js'
import { examineField, type FieldReport } from './examine-field.js'
import { examineFollow, type FollowReport } from './examine-follow.js'
import { examinedPage } from './examined-page.js'

/** What each rule of a route finds on a page, and why one finds nothing. */
export interface Examination {
  /** Of a route that gives several records per page: what they are built from. */
  readonly each: EachReport | null
  readonly fields: readonly FieldReport[]
  readonly follow: readonly FollowReport[]
}

export function examine({ rules }: Pick<Route, 'rules'>, page: Page, admitter: Admitter): Examination {
  const { each } = rules
  const declared = Object.entries(rules.fields)
  const examined = examinedPage(page, admitter)
  return {
    each: each === null ? null : examineEach(each, examined),
    fields: declared.map(([name, definition]) =>
      each === null ? examineField(name, definition, examined) : examineEachField(name, definition, each, examined),
    ),
    follow: rules.follow.map((rule) => examineFollow(rule, examined)),
  }
}
