import type { DecidedBy, DrainReason, Estimate } from '../../src/coordinator/eta.js'
import type { CrawlStats } from '../../src/frontier/frontier.js'
import { ago, duration } from './format.js'

/** When a crawl ends, and what decides it, in words. `host`: named apart, because its name comes from elsewhere. */
export interface EndWords {
  readonly when: string
  readonly host: string | null
  readonly why: string
}

const REASONS: Readonly<Record<DrainReason, string>> = {
  delay: 'decides, by the delay between its requests',
  rate: 'decides, by its limit of requests',
  latency: 'decides, by its slow answers',
  blocked: 'decides: it asked for time',
  closed: 'decides: it was closed by hand',
}

/** From this factor on the plain division misleads, and saying so helps. */
const MISLEADS = 2

export function endWords(stats: CrawlStats, { etaSeconds, decidedBy, plainSeconds }: Estimate, now: number): EndWords {
  if (stats.state === 'finished' || stats.state === 'cancelled') return ended(stats, now)
  if (stats.state === 'paused') return { when: 'paused', host: null, why: 'resume it to see when it ends' }
  if (etaSeconds === null) {
    const known = decidedBy === null ? { host: null, why: whyNot(stats) } : decider(decidedBy, '')
    return { when: 'no end in sight yet', ...known }
  }
  const when = etaSeconds < 1 ? 'ends now' : `ends in ${duration(etaSeconds * 1000)}`
  const plain =
    plainSeconds !== null && etaSeconds > plainSeconds * MISLEADS && etaSeconds - plainSeconds > 60
      ? ` (links left ÷ rate would say ${duration(plainSeconds * 1000)})`
      : ''
  return { when, ...decider(decidedBy, plain) }
}

function decider(decidedBy: DecidedBy | null, plain: string): { host: string | null; why: string } {
  if (decidedBy === null) return { host: null, why: '' }
  if (decidedBy.kind === 'host') return { host: decidedBy.host, why: `${REASONS[decidedBy.reason]}${plain}` }
  if (decidedBy.kind === 'workers') return { host: null, why: 'the workers decide: every slot is busy' }
  return { host: null, why: 'only links that wait for another try are left' }
}

function ended({ state, startedAt, finishedAt, endedBy }: CrawlStats, now: number): EndWords {
  const since = finishedAt === null ? '' : ago(finishedAt, now)
  const took = startedAt === null || finishedAt === null ? '' : `after ${duration(finishedAt - startedAt)}`
  const by = endedBy === null ? '' : endedBy === 'budget_time' ? ', its time was up' : ', its bytes were used up'
  return { when: `${state} ${since}`.trim(), host: null, why: `${took}${by}`.replace(/^, /, '') }
}

function whyNot({ startedAt, seeding, queued, leased, delayed }: CrawlStats): string {
  if (queued + leased + delayed === 0 && seeding) return 'it waits for start URLs'
  return startedAt === null ? 'no worker has begun with it' : 'no worker is at work on it, or no page was measured yet'
}

/** Sentences of the server begin small, because the terminal puts them behind a colon. */
export function sentence(text: string): string {
  // A name stays as it is: hosts and workers have dots, digits and dashes. A command ends without a full stop, or it is copied with it.
  const begun = /^[a-z]+(?=[\s:,])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
  return text === '' || /[.!?…>]$/.test(text) ? begun : `${begun}.`
}
