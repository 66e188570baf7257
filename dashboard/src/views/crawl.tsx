import { ago, plural } from '../format.js'
import { useLive } from '../live.js'
import { Icon } from '../parts/icon.js'
import { StateBadge } from '../parts/state-badge.js'
import { sentence } from '../words.js'
import { CrawlAdvice } from './crawl-advice.js'
import { CrawlCharts } from './crawl-charts.js'
import { CrawlBudget, CrawlFigures, Tally } from './crawl-figures.js'
import './crawl.css'
import { CrawlFiltered } from './crawl-filtered.js'
import { CrawlKinds } from './crawl-kinds.js'
import { EndText } from './end-text.js'
import { endedShare, Progress } from './progress.js'
import type { CrawlPartProps } from './view.js'

/** One crawl, live. */
export function Crawl({ view }: CrawlPartProps) {
  const { stats, now } = view
  return (
    <>
      <Notices view={view} />
      <section class="panel crawl-summary" aria-label="Progress">
        <p class="summary-share">
          <b>{endedShare(stats)}</b> <span class="muted">of the links found so far are done, dead or skipped</span>
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
            title="Responses"
            counts={view.statuses}
            none="No running worker has received a response yet."
            name={statusName}
            tone={statusTone}
          />
          <Tally
            title="Errors"
            counts={view.errors}
            none="No errors on the running workers."
            name={plainName}
            tone={badTone}
          />
          {stats.counts.length === 0 ? null : (
            <Tally
              title="Counted by the spider"
              counts={Object.fromEntries(stats.counts.map(({ name, count }) => [name, count]))}
              none=""
              name={plainName}
              tone={calmTone}
            />
          )}
          <CrawlBudget view={view} />
        </div>
      </div>
      <CrawlFiltered filtered={view.filtered} />
    </>
  )
}

function statusName(status: string): string {
  return status === '0' ? 'no response' : status
}

function statusTone(status: string): 'ok' | 'calm' | 'warn' | 'bad' {
  if (status.startsWith('2')) return 'ok'
  if (status.startsWith('3')) return 'calm'
  return status === '429' || status.startsWith('4') ? 'warn' : 'bad'
}

function calmTone(): 'calm' {
  return 'calm'
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
      : `Not all start URLs could be added (${trouble.code}): ${sentence(trouble.message)} ${sentence(trouble.hint)}`,
    stalled ? 'Links are due, but no worker takes them: nothing has been leased or settled for a while.' : null,
    stats.state === 'running' && holders.holders === 0
      ? `No running worker has the spider ${stats.spider}, so the crawl waits. Start one with shoal worker <spider file>.`
      : null,
    stats.spiderChanges > 0
      ? `The spider file has changed ${plural(stats.spiderChanges, 'time')} since the crawl started; links leased since then use the new version.`
      : null,
    holders.otherVersion.length > 0
      ? `These workers have another version of the spider than the crawl was started with: ${holders.otherVersion.join(', ')}. Results may differ between workers.`
      : null,
  ].filter((line) => line !== null)
  if (lines.length === 0 && alerts.length === 0) return null
  return (
    <section class="health" aria-label="Needs attention">
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
