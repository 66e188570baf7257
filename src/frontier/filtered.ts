import { FILTER_REASONS, type FilteredLinks, type FilterReason } from '../url/filter-reasons.js'

/** Links that the filter changed or rejected, by reason: added up in the same way by every driver. */
export type FilterCounts = Map<FilterReason, FilteredLinks>

/** The example that was there first stays. */
export function addFiltered(counts: FilterCounts, filtered: readonly FilteredLinks[]): void {
  for (const { reason, count, example } of filtered) {
    const known = counts.get(reason)
    counts.set(reason, { reason, count: count + (known?.count ?? 0), example: known?.example ?? example })
  }
}

/** Most frequent first. */
export function filteredOf(counts: ReadonlyMap<FilterReason, FilteredLinks>): FilteredLinks[] {
  const all = FILTER_REASONS.flatMap((reason) => counts.get(reason) ?? [])
  return all.sort((a, b) => b.count - a.count)
}
