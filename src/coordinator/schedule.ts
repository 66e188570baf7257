import { z } from 'zod'
import type { Clock } from '../clock.js'
import { asShoalError, isAway } from '../errors.js'
import type { CrawlId, CrawlInfo } from '../frontier/frontier.js'
import type { Note, Notes } from '../notes/notes.js'
import type { Schedule } from '../spider/schedule.js'
import type { Spider } from '../spider/spider.js'
import { openTurn } from './crawls.js'
import { setCrawlState } from './file-crawl.js'
import { knownProxies } from './proxies.js'
import type { WatchedBackends } from './queue-watch.js'

/**
 * Turns of schedules: each is taken by one process, however many there are. A shared note per spider says which turn was decided last; the process that decides
 * the next one has claimed the note. The crawl of a turn is named after its time, so that a process that takes over from one that died halfway resumes the
 * same crawl.
 */

/** A process that is silent for this long loses its turn to another. */
export const CLAIM_MS = 30_000
/** A schedule that no process has run for this long starts over. */
const KEPT_MS = 400 * 86_400_000
const MOST_COUNTED = 1_000

const noteForm = z.object({
  /** The turn that was decided last, or when a process first ran the schedule. */
  turn: z.number(),
  outcome: z.enum(['begun', 'starting', 'started', 'skipped', 'failed']),
  /** The crawl of this turn; for a skipped one, the crawl that blocked it. */
  crawl: z.string().nullable(),
  /** Why it was skipped or failed. */
  why: z.string().nullable(),
  /** Earlier turns that no process was running for. */
  missed: z.number(),
  /** Who decided, and when. */
  by: z.string(),
  at: z.number(),
})
export type TurnNote = z.infer<typeof noteForm>

export interface TurnParts {
  readonly backends: WatchedBackends & { readonly notes: Notes }
  readonly clock: Clock
  /** The name of this process. */
  readonly holder: string
  readonly claimMs: number
  /** Adds the start URLs; it can be repeated. False: stopped before all were in the queue. */
  readonly seed: (spider: Spider, crawl: CrawlId) => Promise<boolean>
}

/** What this process did with a turn; `waiting`: it starts after the running crawl. */
export type TurnTaken =
  | { readonly kind: 'decided'; readonly note: TurnNote }
  | { readonly kind: 'waiting'; readonly turn: number; readonly crawl: CrawlId }

/** Takes the turn that is due, if there is one and no other process has it. It can be repeated. */
export async function takeTurn(spider: Spider, schedule: Schedule, parts: TurnParts): Promise<TurnTaken | null> {
  const { clock, holder, claimMs } = parts
  const { notes } = parts.backends
  const key = keyOf(spider.name)
  const seen = noteIn(await notes.read(key))
  if (seen !== null && turnDue(schedule, seen, clock.now()) === null) return null
  const claim = await notes.claim(key, holder, 0, claimMs)
  if (claim.kind !== 'yours') return null
  const post = (note: Pick<TurnNote, 'turn' | 'outcome'> & Partial<TurnNote>) =>
    notes.post(key, holder, JSON.stringify(whole(note, holder, clock.now())), KEPT_MS)

  const before = noteIn(claim.old)
  if (before === null) {
    await post({ turn: clock.now(), outcome: 'begun' })
    return null
  }
  const turn = turnDue(schedule, before, clock.now())
  if (turn === null) {
    await notes.drop(key, holder)
    return null
  }
  let missed = before.missed
  if (before.outcome !== 'starting') {
    missed = missedTurns(schedule, before.turn, turn)
    const inTheWay = await unfinished(spider, parts)
    if (inTheWay !== null && schedule.overlap === 'queue') {
      await notes.drop(key, holder)
      return { kind: 'waiting', turn, crawl: inTheWay.id }
    }
    if (inTheWay !== null) {
      const skipped = {
        turn,
        outcome: 'skipped',
        crawl: inTheWay.id,
        why: `crawl ${inTheWay.id} is not finished`,
        missed,
      } as const
      return (await post(skipped)) ? decided(skipped, holder, clock) : null
    }
    // From here on, the process that holds the claim continues with this very crawl.
    if (!(await post({ turn, outcome: 'starting', crawl: turnCrawl(spider.name, turn), missed }))) return null
    if ((await notes.claim(key, holder, 0, claimMs)).kind !== 'yours') return null
  }
  return start(spider, turn, missed, parts, post)
}

async function start(
  spider: Spider,
  turn: number,
  missed: number,
  parts: TurnParts,
  post: (note: Pick<TurnNote, 'turn' | 'outcome'> & Partial<TurnNote>) => Promise<boolean>,
): Promise<TurnTaken | null> {
  const { backends, clock, holder, claimMs, seed } = parts
  const crawl = turnCrawl(spider.name, turn)
  const key = keyOf(spider.name)
  let cancel = () => {}
  const renew = () => {
    backends.notes.claim(key, holder, 0, claimMs).catch(() => {})
    cancel = clock.after(claimMs / 3, renew)
  }
  cancel = clock.after(claimMs / 3, renew)
  let note: Pick<TurnNote, 'turn' | 'outcome'> & Partial<TurnNote> = { turn, outcome: 'started', crawl, missed }
  try {
    const known = (await backends.frontier.crawls()).find(({ id }) => id === crawl)
    const ended = known?.state === 'finished' || known?.state === 'cancelled'
    if (!ended) await openTurn(backends, spider, crawl, { clock, proxies: await knownProxies(backends.notes, spider) })
    if (!ended && !(await seed(spider, crawl))) {
      await backends.notes.drop(key, holder)
      return null
    }
  } catch (error) {
    if (isAway(error)) {
      await backends.notes.drop(key, holder).catch(() => {})
      throw error
    }
    const { code, message } = asShoalError(error)
    note = { ...note, outcome: 'failed', why: `${code}: ${message}` }
    await giveUp(backends, crawl)
  } finally {
    cancel()
  }
  return (await post(note)) ? decided(note, holder, clock) : null
}

/** A crawl that was not fully seeded never finishes: left running, it would block every later turn. */
async function giveUp({ frontier }: WatchedBackends, crawl: CrawlId): Promise<void> {
  const left = (await frontier.crawls()).find(({ id }) => id === crawl)
  if (left?.state === 'running' || left?.state === 'paused') await setCrawlState(frontier, crawl, 'cancelled')
}

/** The turn to decide now: the newest, however many were missed, or one whose start is unfinished. */
export function turnDue(schedule: Schedule, { turn, outcome }: TurnNote, now: number): number | null {
  if (outcome === 'starting') return turn
  const newest = schedule.last(now)
  return newest !== null && newest > turn ? newest : null
}

function missedTurns(schedule: Schedule, after: number, before: number): number {
  let missed = 0
  for (
    let turn = schedule.next(after);
    turn !== null && turn < before && missed < MOST_COUNTED;
    turn = schedule.next(turn)
  )
    missed += 1
  return missed
}

async function unfinished(spider: Spider, { backends }: TurnParts): Promise<CrawlInfo | null> {
  const crawls = await backends.frontier.crawls()
  return (
    crawls.find(({ spider: of, state }) => of === spider.name && (state === 'running' || state === 'paused')) ?? null
  )
}

/** The last decision about the schedule of a spider; null: no process has run it yet. */
export async function lastTurn(notes: Pick<Notes, 'read'>, spider: string): Promise<TurnNote | null> {
  return noteIn(await notes.read(keyOf(spider)))
}

function noteIn(note: Note | null): TurnNote | null {
  if (note === null) return null
  try {
    return noteForm.safeParse(JSON.parse(note.text)).data ?? null
  } catch {
    return null
  }
}

function whole(note: Pick<TurnNote, 'turn' | 'outcome'> & Partial<TurnNote>, by: string, at: number): TurnNote {
  return { crawl: null, why: null, missed: 0, by, at, ...note }
}

function decided(note: Pick<TurnNote, 'turn' | 'outcome'> & Partial<TurnNote>, by: string, clock: Clock): TurnTaken {
  return { kind: 'decided', note: whole(note, by, clock.now()) }
}

function keyOf(spider: string): string {
  return `schedule:${spider}`
}

function turnCrawl(spider: string, turn: number): CrawlId {
  const stamp = new Date(turn).toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')
  return `${spider}-${stamp}-turn`
}
