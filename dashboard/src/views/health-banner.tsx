import type { Overview } from '../../../src/api/api-types.js'
import { ago, duration } from '../format.js'
import { Icon } from '../parts/icon.js'
import { StateBadge } from '../parts/state-badge.js'
import { crawlHref } from '../router.js'
import { sentence } from '../words.js'

/** What needs attention now; nothing if everything is healthy. */
const SHOWN = 3

export function HealthBanner({ overview }: { readonly overview: Overview }) {
  const { health, alerts, now } = overview
  if (health.stalled.length === 0 && alerts.length === 0) return null
  const worst = [...alerts].sort((a, b) => Number(b.severity === 'critical') - Number(a.severity === 'critical'))
  return (
    <section class="health" aria-label="Needs attention">
      {health.stalled.map(({ crawl, forMs }) => (
        <p key={crawl} class="health-line critical">
          <Icon shape="warn" />
          <span>
            <a href={crawlHref(crawl)}>
              <bdi>{crawl}</bdi>
            </a>{' '}
            is stalled: links have been due for {duration(forMs)}, but no worker takes them.
          </span>
        </p>
      ))}
      {worst.slice(0, SHOWN).map((alert) => (
        <p key={alert.episode} class={`health-line ${alert.severity}`}>
          <StateBadge state={alert.severity} />
          <span>
            <bdi>{sentence(alert.message)}</bdi> <span class="muted">{ago(alert.since, now)}</span>
          </span>
        </p>
      ))}
      {alerts.length <= SHOWN ? null : (
        <p class="health-line">
          <a href="#/alerts">All {alerts.length} alerts</a>
        </p>
      )}
    </section>
  )
}
