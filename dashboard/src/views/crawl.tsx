import { ago, plural } from '../format.js'
import { useLive } from '../live.js'
import { Icon } from '../parts/icon.js'
import { StateBadge } from '../parts/state-badge.js'
import { sentence } from '../words.js'
import { CrawlAdvice } from './crawl-advice.js'
import { CrawlCharts } from './crawl-charts.js'
import { CrawlBudget, CrawlFigures, Tally } from './crawl-figures.js'
import './crawl.css'
import { CrawlKinds } from './crawl-kinds.js'
import { EndText } from './end-text.js'
import { endedShare, Progress } from './progress.js'
import type { CrawlPartProps } from './view.js'

/** One crawl as it is this second. */
export function Crawl({ view }: CrawlPartProps) {
  const { stats, now } = view
  return (
    <>
      <Notices view={view} />
      <section class="panel crawl-summary" aria-label="Progress">
        <p class="summary-share">
          <b>{endedShare(stats)}</b> <span class="muted">of the links known so far have ended</span>
        </p>
        <EndText card={view} now={now} />
        <Progress stats={stats} />
      </section>
      <CrawlAdvice advice={view.advice} />
      <CrawlCharts view={view} />
      <CrawlFigures view={view} />
      <div class="columns">
        <CrawlKinds kinds={view.kinds} />
        <div class="column">
          <Tally
            title="Answers"
            counts={view.statuses}
            none="No worker alive has had an answer yet."
            name={statusName}
            tone={statusTone}
          />
          <Tally
            title="Errors"
            counts={view.errors}
            none="No errors: none that a worker alive has seen."
            name={plainName}
            tone={badTone}
          />
          <CrawlBudget view={view} />
        </div>
      </div>
    </>
  )
}

function statusName(status: string): string {
  return status === '0' ? 'no answer' : status
}

function statusTone(status: string): 'ok' | 'calm' | 'warn' | 'bad' {
  if (status.startsWith('2')) return 'ok'
  if (status.startsWith('3')) return 'calm'
  return status === '429' || status.startsWith('4') ? 'warn' : 'bad'
}

function plainName(code: string): string {
  return code
}

function badTone(): 'bad' {
  return 'bad'
}

function Notices({ view }: Pick<CrawlPartProps, 'view'>) {
  const { stats, holders, alerts, trouble, now } = view
  const stalled = useLive().overview?.health.stalled.some(({ crawl }) => crawl === stats.id) ?? false
  const lines = [
    trouble === null
      ? null
      : `Its start URLs could not all be added (${trouble.code}): ${sentence(trouble.message)} ${sentence(trouble.hint)}`,
    stalled ? 'Work is due, and nobody takes it: no link has been leased or has ended for a while.' : null,
    stats.state === 'running' && holders.holders === 0
      ? `No worker alive has the spider ${stats.spider}: the crawl waits. Start one with shoal worker <spider file>.`
      : null,
    stats.spiderChanges > 0
      ? `The spider's file has changed ${plural(stats.spiderChanges, 'time')} since the crawl began; links handed out later use the new one.`
      : null,
    holders.otherVersion.length > 0
      ? `Another version of the spider than the crawl began with: ${holders.otherVersion.join(', ')}. Results may differ by worker.`
      : null,
  ].filter((line) => line !== null)
  if (lines.length === 0 && alerts.length === 0) return null
  return (
    <section class="health" aria-label="What needs a look">
      {lines.map((line) => (
        <p key={line} class="health-line">
          <Icon shape="warn" />
          <bdi>{line}</bdi>
        </p>
      ))}
      {alerts.map((alert) => (
        <p key={alert.episode} class={`health-line ${alert.severity}`}>
          <StateBadge state={alert.severity} />
          <span>
            <bdi>{sentence(alert.message)}</bdi> <bdi class="muted">{sentence(alert.next)}</bdi>{' '}
            <span class="muted">{ago(alert.since, now)}</span>
          </span>
        </p>
      ))}
    </section>
  )
}
