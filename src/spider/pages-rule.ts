import type { Page } from './page.js'
import type { FoundLink } from './spider.js'

/**
 * The other pages of a list. Numbered pages are limited by their number, so they have the same depth as this one: a list of a thousand pages is not a
 * thousand clicks deep. A chain without numbers is limited by the depth, like everything else.
 */
export function linksToPages(page: Page, rule: { readonly max: number; readonly route: string }): FoundLink[] {
  if (asksNotToFollow(page)) return []
  return page.pagination.pages.flatMap(({ url, number }): FoundLink[] => {
    if (number === null) return [{ href: url, route: rule.route }]
    return number > rule.max ? [] : [{ href: url, route: rule.route, sameDepth: true }]
  })
}

function asksNotToFollow({ $ }: Page): boolean {
  const asked = $('meta[name]')
    .toArray()
    .filter(({ attribs }) => attribs.name?.toLowerCase() === 'robots')
  return asked.some(({ attribs }) => /\b(nofollow|none)\b/i.test(attribs.content ?? ''))
}
