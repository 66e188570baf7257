/** What spiders count with `page.count`, added up in the same way by every driver. */
export interface NamedCount {
  readonly name: string
  readonly count: number
}

export const MAX_COUNT_NAME = 64
const MAX_NAME_READ = 1_000
/** Names of one crawl. More than that are URLs or ids: they count together as OTHER_COUNTS, so that no table or metric grows without end. */
export const MAX_COUNT_NAMES = 100
export const OTHER_COUNTS = '(other)'

/** What neither a line nor the label of a metric should hold. */
const UNFIT = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** One spelling for what looks the same; a name taken from a page may be empty or as long as the page. */
export function countName(text: string): string {
  const name = text.slice(0, MAX_NAME_READ).replace(UNFIT, ' ').trim().slice(0, MAX_COUNT_NAME).trimEnd()
  return name === '' ? '(empty)' : name
}
