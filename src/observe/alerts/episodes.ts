import type { Alert, AlertRule } from './alert.js'
import type { Finding } from './rules/rule.js'

/**
 * From the findings of a rule to episodes with a start and an end. An episode starts when something has been over its threshold for a while, and ends when it
 * has been clearly below for a while. In between nothing changes, so alerts do not flap when figures fluctuate.
 */
export const ENDS_AFTER_MS = 60_000

/** What is known of one subject that a rule watches. */
interface Watched {
  readonly overSince: number | null
  readonly belowSince: number | null
  readonly alert: Alert | null
}

/** By subject. */
export type Episodes = ReadonlyMap<string, Watched>

export interface Verdict {
  readonly found: readonly Finding[]
  readonly lastingMs: number
  /** Alerts of the previous watcher about running crawls do not end before this time: the rule has not seen enough yet. */
  readonly keepsUntil: number
  /** How many alerts may start now; the others wait until there is room again. */
  readonly room: number
  /** Whether the subject can still be watched: the alerts of a crawl that has ended or is paused end at once. */
  isWatched(alert: Alert): boolean
}

export interface Turn {
  readonly episodes: Episodes
  readonly began: readonly Alert[]
  readonly ended: readonly Alert[]
}

export function episodesFrom(active: readonly Alert[]): Episodes {
  return new Map(active.map((alert) => [subjectOf(alert), { overSince: null, belowSince: null, alert }]))
}

export function activeIn(episodes: Episodes): Alert[] {
  return [...episodes.values()].flatMap(({ alert }) => alert ?? [])
}

export function nextEpisodes(before: Episodes, rule: AlertRule, verdict: Verdict, now: number): Turn {
  const episodes = new Map<string, Watched>()
  const began: Alert[] = []
  const ended: Alert[] = []
  for (const finding of verdict.found) {
    const subject = subjectOf(finding)
    const known = before.get(subject) ?? { overSince: null, belowSince: null, alert: null }
    const overSince = finding.level === 'over' ? (known.overSince ?? now) : null
    if (known.alert !== null) {
      episodes.set(subject, { overSince, belowSince: null, alert: refreshed(known.alert, finding) })
    } else if (overSince !== null && now - overSince >= verdict.lastingMs && began.length < verdict.room) {
      const alert = alertOf(rule, finding, now)
      began.push(alert)
      episodes.set(subject, { overSince, belowSince: null, alert })
    } else if (overSince !== null) {
      episodes.set(subject, { overSince, belowSince: null, alert: null })
    }
  }
  for (const [subject, known] of before) {
    if (known.alert === null || episodes.has(subject)) continue
    const belowSince = known.belowSince ?? now
    const isOver = now - belowSince >= ENDS_AFTER_MS && now >= verdict.keepsUntil
    if (isOver || !verdict.isWatched(known.alert)) ended.push(known.alert)
    else episodes.set(subject, { overSince: null, belowSince, alert: known.alert })
  }
  return { episodes, began, ended }
}

function subjectOf({ crawl, about }: Pick<Alert, 'crawl' | 'about'>): string {
  return JSON.stringify([crawl, about])
}

function alertOf(rule: AlertRule, { level: _, ...finding }: Finding, now: number): Alert {
  return { rule, ...finding, episode: asciiJson([rule, finding.crawl, finding.about, now]), since: now }
}

/** The episode goes into a webhook header, and names of spiders and fields may be in any script. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** With the current figures; subject and start stay. */
function refreshed(alert: Alert, { severity, message, next, fields }: Finding): Alert {
  return { ...alert, severity, message, next, fields }
}
