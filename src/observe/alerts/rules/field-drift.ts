import { options } from '../../../options.js'
import { type Finding, type Rule, STATELESS } from './rule.js'

/** The alert of a spider that never runs again ends after this. */
const FORGET_MS = 7 * 86_400_000

/** Drift itself is decided in src/quality/drift.ts, hour by hour. */
export const fieldDrift: Rule<Record<string, never>, null> = {
  ...STATELESS,
  rule: 'field_drift',
  meaning:
    'A field that was usually filled is filled in clearly fewer records than before: the site has probably changed. Or a rule or field of the spider has found nothing on any page of the crawl: its selector is probably wrong.',
  settings: options({}),
  lastingMs: 0,
  judge({ drifts, active, now }) {
    const found = [...drifts.values()].flat().map(({ episode, spider, message, fields }): Finding => {
      const next =
        'Check the selectors of the spider against a current page: `shoal records stats`, `shoal try <spider> <url>`.'
      return { about: episode, crawl: null, spider, level: 'over', severity: 'warn', message, next, fields }
    })
    // While a spider is not checked, nothing says that its fields are filled again.
    const unknown = active.filter(
      ({ rule, spider, since }) => rule === 'field_drift' && !drifts.has(spider ?? '') && now - since < FORGET_MS,
    )
    return { memory: null, found: [...found, ...unknown.map((alert): Finding => ({ ...alert, level: 'near' }))] }
  },
}
