import { isAway } from '../../errors.js'
import type { Frontier } from '../../frontier/frontier.js'
import {
  isWorthAProcess,
  NO_CHANGE_YET,
  type ProcessChange,
  type ProcessCountState,
  type ProcessSample,
  processChange,
  processesChanged,
} from './process-count.js'
import {
  type FleetShare,
  isCrowded,
  NOT_COUNTED_YET,
  type UsefulCountState,
  usefulChange,
  usefulChanged,
  workersElsewhere,
} from './useful-count.js'

/** What decides about the number of worker processes: asks the queue where the decision needs it, and remembers what was decided. */
export interface ProcessRule {
  next(sample: RuleSample): Promise<{ readonly change: ProcessChange; readonly why: string }>
  /** A process was added or removed. */
  changed(atMs: number): void
}

interface RuleSample extends ProcessSample {
  /** Of the processes: those that were asked to leave and finish their pages. */
  readonly leaving: number
  readonly pagesPerSecond: number
}

/** The queue is read for the figure; the same as for GET /scale. */
const READ_MS = 3_000

/** More while CPU is the bottleneck and a core is idle. `queued`: links that wait, asked only when a process would be added. */
export function cpuRule(queued: () => Promise<number>): ProcessRule {
  let state: ProcessCountState = NO_CHANGE_YET
  return {
    async next(sample) {
      const { change, state: next } = processChange(state, sample)
      state = next
      if (change !== 'more') return { change, why: 'the other processes have room for its work' }
      const why = 'CPU is the bottleneck and a core is idle'
      if (isWorthAProcess((await unlessAway(queued)) ?? 0, sample.pagesPerSecond)) return { change, why }
      // Asked again when the loops have been full for as long once more.
      state = { ...state, fullSince: null }
      return { change: null, why }
    },
    changed(atMs) {
      state = processesChanged(atMs)
    },
  }
}

/** As many as are useful in the whole fleet and do not run elsewhere, at most `max`. */
export function usefulRule({ max, read }: UsefulRuleOptions): ProcessRule {
  let state: UsefulCountState = NOT_COUNTED_YET
  let readAt = Number.NEGATIVE_INFINITY
  return {
    async next({ leaving, ...all }) {
      if (all.atMs - readAt < READ_MS) return { change: null, why: '' }
      readAt = all.atMs
      const share = await unlessAway(read)
      // While the queue is down nobody knows what is useful: the number stays.
      if (share === null) {
        state = { ...NOT_COUNTED_YET, changedAt: state.changedAt }
        return { change: null, why: '' }
      }
      const sample = { ...all, processes: all.processes - leaving }
      const { change, state: next } = usefulChange(state, sample, share, max)
      state = next
      return { change, why: change === 'fewer' && isCrowded(sample) ? CROWDED : shareText(share) }
    },
    changed(atMs) {
      state = usefulChanged(atMs)
    },
  }
}

export interface UsefulRuleOptions {
  readonly max: number
  readonly read: () => Promise<FleetShare>
}

const CROWDED = 'CPU is the bottleneck, and there are more processes than cores'

function shareText(share: FleetShare): string {
  return `${share.useful} useful, ${workersElsewhere(share)} elsewhere: ${share.why}`
}

/** Null: the queue is down. */
async function unlessAway<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await ask()
  } catch (error) {
    if (isAway(error)) return null
    throw error
  }
}

/** Links that wait in the running crawls of these spiders. */
export async function queuedOf(frontier: Pick<Frontier, 'crawls' | 'stats'>, spiders: ReadonlySet<string>) {
  const ours = (await frontier.crawls()).filter(({ spider, state }) => state === 'running' && spiders.has(spider))
  const all = await Promise.all(ours.map(({ id }) => frontier.stats(id)))
  return all.reduce((sum, { queued }) => sum + queued, 0)
}
