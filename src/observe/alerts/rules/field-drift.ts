import { options } from '../../../options.js'
import { type Finding, FORGETFUL, type Rule } from './rule.js'

/** The alarm of a spider that never runs again is forgotten some day. */
const FORGET_MS = 7 * 86_400_000

/** What drifts is decided in src/quality/drift.ts, hour by hour. */
export const fieldDrift: Rule<Record<string, never>, null> = {
  ...FORGETFUL,
  rule: 'field_drift',
  meaning: 'A field that was usually filled is filled on clearly fewer records than before: the site has changed.',
  settings: options({}),
  lastingMs: 0,
  judge({ drifts, active, now }) {
    const found = [...drifts.values()].flat().map(({ episode, spider, message, fields }): Finding => {
      const next = 'Compare a page of now with the rules of the spider: `shoal records stats`, `shoal try <url>`.'
      return { about: episode, crawl: null, spider, level: 'over', severity: 'warn', message, next, fields }
    })
    // Of a spider that nobody looks at now nobody can say that it is well again.
    const unknown = active.filter(
      ({ rule, spider, since }) => rule === 'field_drift' && !drifts.has(spider ?? '') && now - since < FORGET_MS,
    )
    return { memory: null, found: [...found, ...unknown.map((alert): Finding => ({ ...alert, level: 'near' }))] }
  },
}
