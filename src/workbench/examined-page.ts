import { asShoalError } from '../errors.js'
import { hasTags, mediaTypeOf } from '../fetch/media-type.js'
import type { Page } from '../spider/page.js'
import type { Admitter } from '../url/admit.js'
import { type PageQueries, pageQueries } from './page-queries.js'

/** A page with what its examination needs. */
export interface Examined {
  readonly page: Page
  /** Null: the page has no tags, or no tree. */
  readonly queries: PageQueries | null
  /** Why it has no tree; null: it has one. */
  readonly noTree: string | null
  readonly admitter: Admitter
}

export function examinedPage(page: Page, admitter: Admitter): Examined {
  return { page, admitter, ...treeOf(page) }
}

function treeOf(page: Page): Pick<Examined, 'queries' | 'noTree'> {
  const type = mediaTypeOf(page)
  if (!hasTags(type))
    return { queries: null, noTree: `the page is ${type || 'of an unknown type'}, and a selector needs HTML or XML` }
  try {
    return { queries: pageQueries(page.text, type), noTree: null }
  } catch (error) {
    return { queries: null, noTree: asShoalError(error).message }
  }
}
