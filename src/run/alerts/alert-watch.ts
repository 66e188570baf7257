import type { Log } from '../../log.js'
import type { Alert } from '../../observe/alerts/alert.js'
import {
  type AlertNote,
  parseAlertNote,
  postAlerts,
  trimmed,
  type Undelivered,
} from '../../observe/alerts/alert-notes.js'
import { activeIn, type Episodes, episodesFrom, nextEpisodes } from '../../observe/alerts/episodes.js'
import { judgesOf } from '../../observe/alerts/rules/all-rules.js'
import type { WatchSnapshot } from '../../observe/alerts/rules/rule.js'
import { ALERTS_KEY } from '../../observe/note-keys.js'
import type { DriftAlert } from '../../quality/drift.js'
import type { Backends } from '../../wire/backends.js'
import type { AlertsSetup } from './load-alerts.js'
import { watchSnapshots } from './watch-snapshots.js'

/** Time from the claim of the note to the first post. */
const CLAIM_MS = 10_000
/** Nobody reads more than this. No further alert starts: one that is not in the note would be reported again by the next watcher. */
const MOST_ACTIVE = 200

/** The state of the watcher; what must outlive its process is in its shared note. */
export interface Watch {
  /** Takes a snapshot and evaluates the rules. False: another process is the watcher now. */
  round(): Promise<boolean>
  post(): Promise<boolean>
  delivered(id: string, channel: string): void
  readonly undelivered: readonly Undelivered[]
  /** Drops from the undelivered what all channels have received. */
  settle(channels: readonly string[]): void
  readonly drifts: Map<string, readonly DriftAlert[]>
  /** Spiders with running crawls. */
  readonly spiders: ReadonlySet<string>
}

/** Resumes from the note of the previous watcher: active alerts, and undelivered ones. `author`: names this watcher. */
export async function takeOver(
  backends: Backends,
  { alerts, author, log }: { readonly alerts: AlertsSetup; readonly author: string; readonly log: Log },
): Promise<Watch> {
  const { notes, queueClock: clock } = backends
  const claim = await notes.claim(ALERTS_KEY, author, 0, CLAIM_MS)
  let note = parseAlertNote(claim.kind === 'note' ? claim.note.text : claim.old?.text)
  const since = clock.now()
  const judges = judgesOf(alerts.rules)
  const snapshots = watchSnapshots(backends, { author, log, fleet: /^rediss?[:+]/.test(backends.queueAddress) })
  const drifts = new Map<string, readonly DriftAlert[]>()
  let spiders: ReadonlySet<string> = new Set()
  let episodes: ReadonlyMap<string, Episodes> = new Map(
    judges.map(({ rule }) => [rule, episodesFrom(note.active.filter((alert) => alert.rule === rule))]),
  )

  const judge = (snapshot: WatchSnapshot) => {
    const running = new Set(snapshot.crawls.map((crawl) => crawl.snapshot.stats.id))
    const isWatched = ({ crawl }: Alert) => crawl === null || running.has(crawl)
    const next = new Map<string, Episodes>()
    const began: Alert[] = []
    const ended: Alert[] = []
    const held = [...episodes.values()].reduce((sum, one) => sum + activeIn(one).length, 0)
    for (const { rule, lastingMs, needsMs, judge: found } of judges) {
      const before = episodes.get(rule) ?? new Map()
      const findings = found(snapshot)
      if (findings === null) {
        next.set(rule, before)
        continue
      }
      const room = MOST_ACTIVE - held - began.length + ended.length
      const verdict = { found: findings, lastingMs, keepsUntil: since + needsMs, room, isWatched }
      const turn = nextEpisodes(before, rule, verdict, snapshot.now)
      next.set(rule, turn.episodes)
      began.push(...turn.began)
      ended.push(...turn.ended)
    }
    episodes = next
    return { began, ended }
  }

  const watch: Watch = {
    drifts,
    get spiders() {
      return spiders
    },
    get undelivered() {
      return note.undelivered
    },
    async round() {
      const snapshot = await snapshots.take(note.active, drifts)
      spiders = new Set(snapshot.crawls.map((crawl) => crawl.snapshot.stats.spider))
      note = afterTurn(note, judge(snapshot), [...episodes.values()].flatMap(activeIn), snapshot.now)
      return watch.post()
    },
    post: () => postAlerts(notes, author, note, clock.now()),
    delivered(id, channel) {
      const undelivered = note.undelivered.map((one) =>
        one.id === id ? { ...one, delivered: [...one.delivered, channel] } : one,
      )
      note = { ...note, undelivered }
    },
    settle(channels) {
      note = {
        ...note,
        undelivered: note.undelivered.filter(({ delivered }) => !channels.every((name) => delivered.includes(name))),
      }
    },
  }
  return watch
}

function afterTurn(
  note: AlertNote,
  { began, ended }: { readonly began: readonly Alert[]; readonly ended: readonly Alert[] },
  active: readonly Alert[],
  now: number,
): AlertNote {
  const undelivered = [
    ...ended.map((alert) => ({ event: 'alert.ended' as const, alert })),
    ...began.map((alert) => ({ event: 'alert.began' as const, alert })),
  ].map(({ event, alert }) => ({ id: `${event}:${alert.episode}`, event, alert, at: now, delivered: [] }))
  return trimmed(
    {
      active: [...active].sort((a, b) => b.since - a.since),
      ended: [...ended.map((alert) => ({ ...alert, endedAt: now })), ...note.ended],
      undelivered: [...note.undelivered, ...undelivered],
    },
    now,
  )
}
