/** What spiders count with `page.count`, added up in the same way by every driver. */
export interface NamedCount {
  readonly name: string
  readonly count: number
}

const MAX_COUNT_NAME = 64
const MAX_NAME_READ = 1_000
/** Names of one crawl. More than that are URLs or ids: they count together as OTHER_COUNTS, so that no table or metric grows without end. */
export const MAX_COUNT_NAMES = 100
export const OTHER_COUNTS = '(other)'

/** Sums by name. */
export type Counts = Map<string, number>

/** A new name that is one too many counts as OTHER_COUNTS. */
export function addNamedCounts(counts: Counts, added: readonly NamedCount[]): void {
  for (const { name, count } of added) {
    const others = counts.has(OTHER_COUNTS) ? 1 : 0
    const counted = counts.has(name) || counts.size - others < MAX_COUNT_NAMES ? name : OTHER_COUNTS
    counts.set(counted, (counts.get(counted) ?? 0) + count)
  }
}

/** Largest first. Shards that know different names may have too many together: the smallest are then counted as OTHER_COUNTS. */
export function countsOf(counts: ReadonlyMap<string, number>): NamedCount[] {
  const named = Array.from(counts, ([name, count]) => ({ name, count }))
    .filter(({ name }) => name !== OTHER_COUNTS)
    .sort(largestFirst)
  const rest = named.splice(MAX_COUNT_NAMES).reduce((sum, { count }) => sum + count, counts.get(OTHER_COUNTS) ?? 0)
  if (rest > 0) named.push({ name: OTHER_COUNTS, count: rest })
  return named.sort(largestFirst)
}

function largestFirst(a: NamedCount, b: NamedCount): number {
  return b.count - a.count || (a.name < b.name ? -1 : 1)
}

/** What neither a line nor the label of a metric should hold. */
const UNFIT = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/** One spelling for what looks the same; a name taken from a page may be empty or as long as the page. */
export function countName(text: string): string {
  const name = text.slice(0, MAX_NAME_READ).replace(UNFIT, ' ').trim().slice(0, MAX_COUNT_NAME).trimEnd()
  return name === '' ? '(empty)' : name
}
