import type { Random } from '../clock.js'
import type { Exit, ExitId } from './proxy.js'
import type { ExitScore } from './proxy-ledger.js'
import type { ExitChoice, Pool } from './pool.js'

/** Of the asks of a pool that goes by cost, this share tries first what is least known: prices and bans change. */
export const EXPLORE = 0.05
/** Makes exits that cost nothing differ by how often they work. */
const TINY_COST = 1e-9
const GB = 1e9

export interface Choosing {
  readonly choose: ExitChoice
  readonly country: string | null
  readonly prefer?: readonly ExitId[]
  readonly stay?: ExitId
  /** Counts the asks of this pool: a rotating pool begins one further each time. */
  readonly turn: number
  /** On the site in question, by exit. */
  readonly scores: ReadonlyMap<ExitId, ExitScore>
}

/** The exits of a pool for one ask, best first. */
export function chooseExits(pool: Pool, choosing: Choosing, random: Random): Exit[] {
  const { choose, country, prefer = [], stay, turn, scores } = choosing
  const fits = (exit: Exit) =>
    (country === null || exit.country === country) && (stay === undefined || exit.id === stay)
  const fitting = country === null && stay === undefined ? pool.exits : pool.exits.filter(fits)
  const ordered = inOrder(choose, rotated(fitting, turn), scores, random)
  if (prefer.length === 0) return ordered
  const preferred = new Set(prefer)
  return [...ordered.filter((exit) => preferred.has(exit.id)), ...ordered.filter((exit) => !preferred.has(exit.id))]
}

function inOrder(choose: ExitChoice, exits: Exit[], scores: Choosing['scores'], random: Random): Exit[] {
  if (exits.length < 2 || choose === 'rotate') return exits
  // The sort is stable: what is equal stays in turn.
  if (choose === 'weighted') return sortedBy(exits, (exit) => -(random() ** (1 / exit.weight)))
  if (random() < EXPLORE) return sortedBy(exits, (exit) => triesOf(scores.get(exit.id)))
  return sortedBy(exits, (exit) => costStep(expectedCost(exit, scores.get(exit.id))))
}

function rotated(exits: readonly Exit[], turn: number): Exit[] {
  const start = exits.length === 0 ? 0 : turn % exits.length
  return [...exits.slice(start), ...exits.slice(0, start)]
}

function sortedBy(exits: readonly Exit[], rank: (exit: Exit) => number): Exit[] {
  return exits
    .map((exit) => ({ exit, value: rank(exit) }))
    .sort((a, b) => a.value - b.value)
    .map(({ exit }) => exit)
}

function triesOf(score: ExitScore | undefined): number {
  return score === undefined ? 0 : score.good + score.neutral + score.banned + score.broken
}

/**
 * Of one good page of the site. One good answer is assumed beforehand, so that what is unknown looks as good as it can be and is tried, and a
 * single failure does not condemn.
 */
export function expectedCost(exit: Exit, score: ExitScore | undefined): number {
  const tries = triesOf(score)
  const bytes = tries === 0 ? 0 : (score?.bytes ?? 0) / tries
  const ofRequest = exit.cost.perRequest + (exit.cost.perGb * bytes) / GB
  return ((ofRequest + TINY_COST) * (tries + 1)) / ((score?.good ?? 0) + 1)
}

/** In steps of a tenth: what costs about the same takes turns. */
function costStep(cost: number): number {
  return Math.round(Math.log(cost) / Math.log(1.1))
}
