import type { AlertNotes } from '../../../src/api/api-types.js'
import { path } from '../api.js'
import { ago, clockTime, duration } from '../format.js'
import { useLive } from '../live.js'
import { useLoad } from '../load.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { StateBadge } from '../parts/state-badge.js'
import { crawlHref } from '../router.js'
import { sentence } from '../words.js'
import './lists.css'

const EVERY_MS = 5_000

/** Active and recently ended alerts. */
export function Alerts() {
  const { value, failure, reload } = useLoad<AlertNotes>(path('alerts'), {}, EVERY_MS)
  const now = useLive().overview?.now ?? Date.now()
  return (
    <>
      <header class="view-head">
        <h1>Alerts</h1>
      </header>
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      {value === null ? (
        failure === null ? (
          <Loading />
        ) : null
      ) : (
        <>
          <section class="panel" aria-labelledby="active">
            <h2 id="active">Active</h2>
            {value.active.length === 0 ? (
              <Empty title="No active alerts">
                Alerts appear here automatically, and are sent to webhooks and commands if configured.
              </Empty>
            ) : (
              <ul class="lines">
                {value.active.map((alert) => (
                  <AlertLine key={alert.episode} alert={alert} when={`for ${duration(now - alert.since)}`} open />
                ))}
              </ul>
            )}
          </section>
          {value.ended.length === 0 ? null : (
            <section class="panel" aria-labelledby="over">
              <h2 id="over">Ended</h2>
              <ul class="lines">
                {value.ended.map((alert) => (
                  <AlertLine
                    key={alert.episode}
                    alert={alert}
                    when={`${clockTime(alert.since, now)}, for ${duration(alert.endedAt - alert.since)}, ended ${ago(alert.endedAt, now)}`}
                  />
                ))}
              </ul>
            </section>
          )}
        </>
      )}
    </>
  )
}

interface AlertLineProps {
  readonly alert: AlertNotes['active'][number]
  readonly when: string
  readonly open?: boolean
}

function AlertLine({ alert, when, open = false }: AlertLineProps) {
  return (
    <li class="line">
      <div class="line-head">
        <StateBadge state={open ? alert.severity : 'finished'} text={open ? undefined : 'ended'} />
        <code>{alert.rule}</code>
        {alert.crawl === null ? null : (
          <a href={crawlHref(alert.crawl)}>
            <bdi>{alert.crawl}</bdi>
          </a>
        )}
        <span class="muted">{when}</span>
      </div>
      <p>
        <bdi>{sentence(alert.message)}</bdi>
      </p>
      {open && alert.next !== '' ? (
        <p class="muted">
          <bdi>{sentence(alert.next)}</bdi>
        </p>
      ) : null}
    </li>
  )
}
