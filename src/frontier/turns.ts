import { IDLE_MAX_MS, type WorkerId } from './frontier.js'

/**
 * Which worker gets scarce work: pure arithmetic over what the workers used lately, the same in every driver.
 *
 * Without it the first to ask gets everything: a worker that has just finished a page asks at once, while those that got nothing sleep (four workers on one
 * host: 874, 126, 0 and 0 pages). So while work is scarce, the worker that used the least takes its turn: it asks often, and whoever used more leaves it
 * what would make the two even.
 *   lead  the worker that used the most
 *   next  the worker whose turn it is: it got less than it wanted, and the lead is ahead of it by TURN_MS of one slot
 * Nothing is held back for a worker that has not asked within the last TURN_KEPT_MS, so that a worker that died or is paused costs the others no more
 * than that. Where every worker gets what it wants, there is no turn and nothing changes.
 */
export interface Turns {
  readonly lead: WorkerId | null
  readonly next: WorkerId | null
}

export const NO_TURNS: Turns = { lead: null, next: null }

/** Workers that ask for different spiders do not compete: one could wait for links that the other cannot get. */
export function turnsName(spiders: readonly string[]): string {
  return spiders.join(' ')
}

/** What a worker used lately, as of its last lease call. */
export interface Usage {
  /** Slots × milliseconds: older ones count for less. */
  readonly slotMs: number
  /** Pages that it fetched after the call. */
  readonly busy: number
  readonly at: number
}

/** A lease call of one worker, and what is known of those it competes with. */
export interface Contest {
  readonly worker: WorkerId
  readonly now: number
  /** Pages that it fetches now. */
  readonly busy: number
  readonly want: number
  /** Null: it has never asked. */
  readonly own: Usage | null
  readonly turns: Turns
  /** Usage of `turns.lead` and `turns.next`; null when there is none, or the worker is forgotten. */
  readonly lead: Usage | null
  readonly next: Usage | null
}

export interface LeasedLinks {
  readonly count: number
  /** Sum of the gaps (`gapMs`, pace.ts) of their hosts. */
  readonly gapsMs: number
  /** It got less than it wanted although links are queued, and no link waits for it to drain. */
  readonly short: boolean
  /** Until time itself changes something. */
  readonly idleMs: number
}

/** Usage of this long ago counts half. Long enough to be fair over turns of a second, short enough that a new worker is not given everything. */
export const USAGE_HALVED_MS = 5_000
/** A turn begins when the lead is ahead by this much of one slot. Handing over a slot leaves it idle for about 12 ms: about 1 % of this. */
export const TURN_MS = 1_000
/** … and by this part more: workers with many slots each need not be even to a page. */
export const TURN_MARGIN = 0.15
/** The next worker asks this often, until it has caught up. */
export const TURN_POLL_MS = 25
/** Links are left to the next worker for this long after it asked: the pause, and as much again for a busy event loop. */
export const TURN_KEPT_MS = 50
/** A worker that is behind too, but not the next one, asks again after this long when the lead has one page more, and sooner when it has many. */
export const TURN_LINE_MS = 250
/** A worker that has not asked for this long is not the lead any more. Longer than a slow page: a worker without room does not ask. */
export const LEAD_KEPT_MS = 10_000
/** A link of a host with a delay uses the host until the next start, however short the answer: the gap counts, twice, as an answer takes time too. */
export const GAP_WEIGHT = 2

export function usedBy(usage: Usage | null, now: number): number {
  if (usage === null) return 0
  const elapsed = Math.max(0, now - usage.at)
  return ((usage.slotMs + usage.busy * elapsed) * USAGE_HALVED_MS) / (USAGE_HALVED_MS + elapsed)
}

/** How many links the call may lease: all that it wants, unless it is somebody's turn. */
export function roomFor(contest: Contest): number {
  const { worker, now, busy, want, own, turns } = contest
  if (turns.next === worker) {
    const lead = currentLead(contest)
    // As many as the lead has, so that the turns do not swing from one worker that has everything to another.
    return lead === null ? want : Math.min(want, Math.max(1, lead.busy - busy))
  }
  const next = waiting(contest)
  if (next === null || usedBy(own, now) <= usedBy(next, now)) return want
  return Math.min(want, Math.max(0, Math.floor(((own?.busy ?? 0) + next.busy) / 2) - busy))
}

/** What is remembered after the call, and when the worker asks again. */
export function afterLease(
  contest: Contest,
  leased: LeasedLinks,
): { readonly usage: Usage; readonly turns: Turns; readonly idleMs: number } {
  const { worker, now, want, own, turns } = contest
  const usage: Usage = {
    slotMs: usedBy(own, now) + GAP_WEIGHT * leased.gapsMs,
    busy: contest.busy + leased.count,
    at: now,
  }
  const before = currentLead(contest)
  const lead = turns.lead === worker || before === null || usedBy(before, now) < usage.slotMs ? null : before
  const leadId = lead === null ? worker : turns.lead
  const isNext = turns.next === worker
  const next = waiting(contest)
  if (!isNext && roomFor(contest) < want && leased.idleMs <= 1) {
    // Left to the next worker; if that one does not come, they are still there when its turn is over.
    const idleMs = Math.max(1, Math.ceil((next?.at ?? now) + TURN_KEPT_MS - now))
    return { usage, turns: { lead: leadId, next: turns.next }, idleMs }
  }
  const nobody = { lead: leadId, next: isNext ? null : turns.next }
  const even = usage.busy > 0 && usage.busy >= (lead?.busy ?? 0)
  if (lead === null || !leased.short || even) return { usage, turns: nobody, idleMs: leased.idleMs }
  const allowed = isNext ? usage.slotMs : usage.slotMs * (1 + TURN_MARGIN) + TURN_MS
  const ahead = usedBy(lead, now) - allowed
  if (ahead <= 0) {
    const behindIn = lead.busy > usage.busy ? Math.ceil(-ahead / (lead.busy - usage.busy)) : leased.idleMs
    return { usage, turns: nobody, idleMs: Math.min(leased.idleMs, Math.max(TURN_POLL_MS, behindIn)) }
  }
  const takesTurn = isNext || next === null || usage.slotMs < usedBy(next, now)
  return {
    usage,
    turns: takesTurn ? { lead: leadId, next: worker } : nobody,
    idleMs: takesTurn ? nextPause(lead, leased.idleMs) : linePause(lead, usage, leased.idleMs),
  }
}

/**
 * A slot that is held may be free at any time. When the lead holds none and it is known when the next link can be leased (a host's delay), the next worker
 * asks shortly before.
 */
function nextPause(lead: Usage, idleMs: number): number {
  const known = lead.busy === 0 && idleMs < IDLE_MAX_MS
  return known && idleMs > 2 * TURN_POLL_MS ? idleMs - TURN_POLL_MS : Math.min(idleMs, TURN_POLL_MS)
}

function linePause(lead: Usage, { busy }: Usage, idleMs: number): number {
  const more = Math.max(1, lead.busy - busy)
  return Math.min(idleMs, Math.max(TURN_POLL_MS, Math.ceil(TURN_LINE_MS / more)))
}

function currentLead({ worker, now, turns, lead }: Contest): Usage | null {
  return turns.lead === worker || lead === null || now - lead.at > LEAD_KEPT_MS ? null : lead
}

/** The worker whose turn it is, when it is another one and asks often enough. */
function waiting({ worker, now, turns, next }: Contest): Usage | null {
  return turns.next === worker || next === null || now - next.at > TURN_KEPT_MS ? null : next
}
