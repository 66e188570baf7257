import type { Drift, DriftAlert } from './drift.js'
import { type MatchRow, matchId } from './match-row.js'
import type { DeclaredRoute } from './match-tally.js'

/** A rule or field that found nothing on any page of a crawl. */
export type NeverMatched = Omit<MatchRow, 'part' | 'matched'> & { readonly part: 'rule' | 'field' }

/**
 * The rules and fields of a crawl that never found anything, those with the most pages first. A field that was filled by another selector,
 * on another route or before the spider was changed, was filled. `declared`: only what the spider still has; a crawl that was resumed with a
 * corrected selector keeps the counts of the wrong one.
 */
export function neverMatched(
  rows: readonly MatchRow[],
  declared: readonly DeclaredRoute[] | null = null,
): NeverMatched[] {
  const known = declared === null ? null : declaredIds(declared)
  const filled = new Set(rows.filter(isFilledField).map(fieldId))
  return rows
    .flatMap(({ part, matched, ...row }): NeverMatched[] =>
      part === 'route' || matched > 0 || row.seen === 0 ? [] : [{ ...row, part }],
    )
    .filter((row) => row.part !== 'field' || !filled.has(fieldId(row)))
    .filter((row) => known === null || known.has(matchId({ ...row, crawl: '' })))
    .sort((a, b) => b.seen - a.seen)
}

function isFilledField({ part, matched }: MatchRow): boolean {
  return part === 'field' && matched > 0
}

function fieldId({ crawl, of, name }: Pick<MatchRow, 'crawl' | 'of' | 'name'>): string {
  return JSON.stringify([crawl, of, name])
}

function declaredIds(routes: readonly DeclaredRoute[]): Set<string> {
  const ids = new Set<string>()
  for (const { name: of, rules, each, fields } of routes) {
    if (each !== '') ids.add(matchId({ crawl: '', part: 'rule', of, name: 'each', selector: each }))
    for (const selector of rules) ids.add(matchId({ crawl: '', part: 'rule', of, name: '', selector }))
    for (const [kind, declared] of fields) {
      for (const field of declared) ids.add(matchId({ crawl: '', part: 'field', of: kind, ...field }))
    }
  }
  return ids
}

/** From the first page on: a selector that never matches is a mistake more often than not. A field that drifts has its alert already. */
export function neverMatchedAlerts(
  spider: string,
  never: readonly NeverMatched[],
  drifts: readonly Pick<Drift, 'kind' | 'field'>[],
): DriftAlert[] {
  return never
    .filter(({ part, of, name }) => part === 'rule' || !drifts.some(({ kind, field }) => kind === of && field === name))
    .map((one) => {
      const { part, of, name, selector, seen, example } = one
      const about: Record<string, string | number> =
        part === 'field' ? { kind: of, field: name, records: seen } : { route: of, pages: seen }
      return {
        name: 'records.drift',
        severity: 'warn',
        episode: JSON.stringify([spider, 'never', part, of, name, selector]),
        spider,
        change: 'never',
        message: neverText(one),
        fields: { ...about, selector, now: 0, url: example },
      }
    })
}

/** `seen` as text: a person reads 1,000 more easily than 1000. */
export function neverText(
  { part, of, name, selector, seen }: Omit<NeverMatched, 'crawl' | 'example'>,
  count: (value: number) => string = String,
): string {
  const shown = selector === '' ? '' : ` (\`${selector}\`)`
  return part === 'field'
    ? `${of}.${name}${shown} is filled on 0 of ${count(seen)} ${seen === 1 ? 'record' : 'records'}`
    : `route ${of}: ${name === '' ? '' : `${name} `}\`${selector}\` matched on 0 of ${count(seen)} ${seen === 1 ? 'page' : 'pages'}`
}
