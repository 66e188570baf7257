/**
 * How often one declared part of a spider found something in one crawl. Rows of many workers and minutes add up to one.
 *
 * - `route`: of the pages that the route read, those that produced a record, accepted or rejected
 * - `rule`: of these pages, those on which the follow rule found a link
 * - `field`: of the records of a kind, those that have a value in the field
 */
export interface MatchRow {
  readonly crawl: string
  readonly part: 'route' | 'rule' | 'field'
  /** The route, or the kind of record that has the field. */
  readonly of: string
  /** The field; `each` for the rule `record.each`; '' for a route or a follow rule. */
  readonly name: string
  /** As it is in the spider; '' for a route, and for a field that a handler fills. */
  readonly selector: string
  /** Pages or records. */
  readonly seen: number
  readonly matched: number
  /** The first page on which it found nothing; '': there is none. */
  readonly example: string
}

/** One row for each part, in the order of the key: writers that lock them in the same order do not deadlock. */
export function addedMatches(rows: readonly MatchRow[]): MatchRow[] {
  const sums = new Map<string, MatchRow>()
  for (const row of rows) {
    const id = matchId(row)
    const sum = sums.get(id)
    sums.set(id, sum === undefined ? row : addMatches(sum, row))
  }
  return [...sums.values()].sort(compareMatches)
}

export function matchId({ crawl, part, of, name, selector }: Omit<MatchRow, 'seen' | 'matched' | 'example'>): string {
  return JSON.stringify([crawl, part, of, name, selector])
}

function addMatches(a: MatchRow, b: MatchRow): MatchRow {
  return {
    ...a,
    seen: a.seen + b.seen,
    matched: a.matched + b.matched,
    example: a.example === '' ? b.example : a.example,
  }
}

function compareMatches(a: MatchRow, b: MatchRow): number {
  for (const name of ['crawl', 'part', 'of', 'name', 'selector'] as const) {
    if (a[name] !== b[name]) return a[name] < b[name] ? -1 : 1
  }
  return 0
}
