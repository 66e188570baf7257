import { useState } from 'preact/hooks'
import type { CrawlCard, Overview as OverviewView } from '../../../src/api/api-types.js'
import { count, plural, rate, shortCount } from '../format.js'
import { useLive } from '../live.js'
import { Button } from '../parts/button.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { Icon } from '../parts/icon.js'
import { Sparkline } from '../parts/sparkline.js'
import { StateBadge } from '../parts/state-badge.js'
import { crawlHref } from '../router.js'
import { sentence } from '../words.js'
import { EndText } from './end-text.js'
import { HealthBanner } from './health-banner.js'
import { OlderCrawls } from './older-crawls.js'
import './overview.css'
import { endedShare, Progress } from './progress.js'
import { StartDialog } from './start-dialog.js'

export function Overview() {
  const { overview, failure } = useLive()
  const [starting, setStarting] = useState(false)
  return (
    <>
      <header class="view-head">
        <div>
          <h1>Crawls</h1>
        </div>
        <Button kind="primary" onClick={() => setStarting(true)} disabled={overview === null}>
          <Icon shape="play" /> Start a crawl
        </Button>
      </header>
      {failure === null ? null : <Failure failure={failure} />}
      {overview === null ? failure === null ? <Loading what="Loading crawls" /> : null : <Loaded overview={overview} />}
      {starting && overview !== null ? <StartDialog overview={overview} onClose={() => setStarting(false)} /> : null}
    </>
  )
}

function Loaded({ overview }: { readonly overview: OverviewView }) {
  const { crawls, now } = overview
  const active = crawls.filter(({ stats }) => stats.state === 'running' || stats.state === 'paused')
  const ended = crawls.filter((card) => !active.includes(card))
  return (
    <>
      <HealthBanner overview={overview} />
      <Fleet overview={overview} />
      {active.length === 0 ? (
        <section class="panel" aria-label="Active crawls">
          <Empty title={ended.length === 0 ? 'No crawls yet' : 'No crawl is running'}>
            Start one here, or in a terminal: <code>shoal run spider.ts</code>
          </Empty>
        </section>
      ) : (
        <section aria-label="Active crawls">
          <ul class="crawls">
            {active.map((card) => (
              <ActiveCrawl key={card.stats.id} card={card} now={now} />
            ))}
          </ul>
        </section>
      )}
      {ended.length === 0 ? null : (
        <section aria-labelledby="ended">
          <h2 id="ended" class="section-title">
            Ended
          </h2>
          <ul class="crawls ended">
            {ended.map((card) => (
              <EndedCrawl key={card.stats.id} card={card} now={now} />
            ))}
          </ul>
          <OlderCrawls shown={crawls} now={now} />
        </section>
      )}
    </>
  )
}

function Fleet({ overview }: { readonly overview: OverviewView }) {
  const { workers, crawls } = overview
  const running = crawls.filter(({ stats }) => stats.state === 'running')
  const pages = running.reduce((sum, { stats }) => sum + stats.rate, 0)
  return (
    <dl class="fleet" aria-label="Fleet">
      <div>
        <dt>Running</dt>
        <dd>{count(running.length)}</dd>
      </div>
      <div>
        <dt>Pages per second</dt>
        <dd>{rate(pages)}</dd>
      </div>
      <div>
        <dt>Workers</dt>
        <dd>
          <a href="#/workers">{count(workers.alive)}</a>
          {workers.missing === 0 ? null : (
            <span class="bad-text fleet-note">
              <Icon shape="warn" size={12} /> {count(workers.missing)} missing
            </span>
          )}
        </dd>
      </div>
      <div>
        <dt>Slots busy</dt>
        <dd>
          {count(workers.busy)} <span class="of">of {count(workers.slots)}</span>
        </dd>
      </div>
    </dl>
  )
}

function ActiveCrawl({ card, now }: { readonly card: CrawlCard; readonly now: number }) {
  const { stats, advice, spark } = card
  return (
    <li class="panel crawl">
      <div class="crawl-name">
        <h2>
          <a href={crawlHref(stats.id)}>
            <bdi>{stats.id}</bdi>
          </a>
        </h2>
        <StateBadge state={stats.state} />
        {stats.dead === 0 ? null : (
          <a class="crawl-dead" href={crawlHref(stats.id, 'dead')}>
            {plural(stats.dead, 'dead letter')}
          </a>
        )}
      </div>
      <div class="crawl-rate">
        <span>
          <b>{rate(stats.rate)}</b> <span class="muted">pages/s</span>
        </span>
        <Sparkline values={spark} label="Pages per second" />
      </div>
      <EndText card={card} now={now} />
      <Progress stats={stats} />
      {advice === null || advice.stage === 'none' ? null : (
        <p class="crawl-advice">
          <bdi>{sentence(advice.sentence)}</bdi>{' '}
          {advice.moreWorkers > 0 ? <b>{plural(advice.moreWorkers, 'more worker')} would help.</b> : null}
        </p>
      )}
    </li>
  )
}

export function EndedCrawl({ card, now }: { readonly card: CrawlCard; readonly now: number }) {
  const { stats } = card
  return (
    <li class="ended-crawl">
      <a class="clip" href={crawlHref(stats.id)}>
        <bdi>{stats.id}</bdi>
      </a>
      <StateBadge state={stats.state} />
      <EndText card={card} now={now} />
      <span class="muted ended-counts">
        {shortCount(stats.done)} done{stats.dead === 0 ? '' : `, ${shortCount(stats.dead)} dead`}, {endedShare(stats)}
      </span>
    </li>
  )
}
