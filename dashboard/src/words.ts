import type { DecidedBy, DrainReason, Estimate } from '../../src/coordinator/eta.js'
import type { CrawlStats } from '../../src/frontier/frontier.js'
import type { SlotLimit } from '../../src/observe/vitals/vitals.js'
import { ago, duration } from './format.js'

/** When a crawl ends, and what limits it, in words. `host` is separate, because its name is untrusted text. */
export interface EndWords {
  readonly when: string
  readonly host: string | null
  readonly why: string
}

const REASONS: Readonly<Record<DrainReason, string>> = {
  delay: 'is the limit (crawl delay)',
  rate: 'is the limit (rate limit)',
  latency: 'is the limit (slow responses)',
  blocked: 'is the limit (asked us to wait)',
  closed: 'is the limit (blocked manually)',
  missing: 'is the limit (its slots are held by a missing worker)',
  unreachable: 'is the limit (cannot be reached)',
}

/** Why a worker has no more slots; empty when it has all of them. */
export const SLOT_LIMITS: Readonly<Record<SlotLimit, string>> = {
  growing: 'growing',
  most: '',
  work: 'no more work',
  cpu: 'CPU',
  memory: 'memory',
  bodies: 'page bodies',
  outbox: 'commits',
}

/** From this factor on the simple division is misleading enough to mention. */
const MISLEADS = 2

export function endWords(stats: CrawlStats, { etaSeconds, decidedBy, plainSeconds }: Estimate, now: number): EndWords {
  if (stats.state === 'finished' || stats.state === 'cancelled') return ended(stats, now)
  if (stats.state === 'paused') return { when: 'paused', host: null, why: 'resume it to get an estimate' }
  if (etaSeconds === null) {
    const known = decidedBy === null ? { host: null, why: whyNot(stats) } : decider(decidedBy, '')
    return { when: 'no estimate yet', ...known }
  }
  const when = etaSeconds < 1 ? 'ends now' : `ends in ${duration(etaSeconds * 1000)}`
  const plain =
    plainSeconds !== null && etaSeconds > plainSeconds * MISLEADS && etaSeconds - plainSeconds > 60
      ? `; links left ÷ rate: ${duration(plainSeconds * 1000)}`
      : ''
  return { when, ...decider(decidedBy, plain) }
}

function decider(decidedBy: DecidedBy | null, plain: string): { host: string | null; why: string } {
  if (decidedBy === null) return { host: null, why: '' }
  if (decidedBy.kind === 'host') return { host: decidedBy.host, why: `${REASONS[decidedBy.reason]}${plain}` }
  if (decidedBy.kind === 'workers') return { host: null, why: 'limited by workers (all slots are busy)' }
  if (decidedBy.kind === 'cpu') return { host: null, why: 'limited by CPU (the event loop of the workers is busy)' }
  return { host: null, why: 'only links waiting for a retry are left' }
}

function ended({ state, startedAt, finishedAt, endedBy }: CrawlStats, now: number): EndWords {
  const since = finishedAt === null ? '' : ago(finishedAt, now)
  const took = startedAt === null || finishedAt === null ? '' : `after ${duration(finishedAt - startedAt)}`
  const by = endedBy === null ? '' : endedBy === 'budget_time' ? ', time budget used up' : ', byte budget used up'
  return { when: `${state} ${since}`.trim(), host: null, why: `${took}${by}`.replace(/^, /, '') }
}

function whyNot({ startedAt, seeding, queued, leased, delayed }: CrawlStats): string {
  if (queued + leased + delayed === 0 && seeding) return 'waiting for start URLs'
  return startedAt === null ? 'no worker has started on it' : 'no worker is running for it, or no page was measured yet'
}

/** Sentences of the server start in lower case, because the terminal prints them after a colon. */
export function sentence(text: string): string {
  // A name stays as it is: hosts and workers have dots, digits and dashes. A command ends without a full stop, or it is copied with it.
  const begun = /^[a-z]+(?=[\s:,])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return text === '' || /[.!?…>]$/.test(text) ? begun : `${begun}.`
}
