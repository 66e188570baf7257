import type { ComponentChildren, TargetedSubmitEvent } from 'preact'
import { useEffect, useId, useState } from 'preact/hooks'
import type { LinkState, UrlHistory } from '../../../src/api/api-types.js'
import type { LinkInfo } from '../../../src/frontier/frontier.js'
import { path } from '../api.js'
import { ago, bytes, clockTime, count, duration } from '../format.js'
import { useLoad } from '../load.js'
import { Button } from '../parts/button.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { Icon, type Shape } from '../parts/icon.js'
import { StateBadge } from '../parts/state-badge.js'
import { Foreign, Outside } from '../parts/text.js'
import { crawlHref, replaceQuery } from '../router.js'
import { sentence } from '../words.js'
import { JsonText } from './json-text.js'
import { askLink, LINK_ACTIONS } from './link-orders.js'
import { useQueueTime } from './queue-time.js'
import type { CrawlPartProps } from './view.js'

const EVERY_MS = 3_000

/** The history of a URL: how it was found, every attempt, its records, and what comes next. */
export function Explain({ view, query }: CrawlPartProps) {
  const crawl = view.stats.id
  const url = query.url ?? ''
  const { value, failure, loading, reload } = useLoad<UrlHistory>(
    url === '' ? null : path('crawls', crawl, 'explain'),
    { url },
    EVERY_MS,
  )
  return (
    <>
      <Asked url={url} />
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      {url === '' ? (
        <Empty title="Where is a URL, and why?">
          Paste any URL to see its history, from how it was found to its records.
        </Empty>
      ) : value === null ? (
        loading ? (
          <Loading />
        ) : null
      ) : (
        <UrlHistoryRead history={value} onChanged={reload} />
      )}
    </>
  )
}

function Asked({ url }: { readonly url: string }) {
  const id = useId()
  const [text, setText] = useState(url)
  useEffect(() => setText(url), [url])
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    replaceQuery({ url: text.trim() })
  }
  return (
    <form class="filters asked" onSubmit={submit}>
      <label class="unseen" for={id}>
        URL
      </label>
      <input
        id={id}
        type="text"
        inputMode="url"
        autocomplete="off"
        spellcheck={false}
        placeholder="https://shop.example/item/7"
        required
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Button kind="primary" submit>
        Explain
      </Button>
    </form>
  )
}

function UrlHistoryRead({ history, onChanged }: { readonly history: UrlHistory; readonly onChanged: () => void }) {
  const now = useQueueTime()
  const { crawl, fp, url, link } = history
  return (
    <article class="history">
      <header>
        <StateBadge state={history.state} text={history.state === 'unknown' ? 'not in this crawl' : undefined} />
        <h2 class="long-text">
          <Outside url={url} />
        </h2>
      </header>
      {(link === null ? history.why : history.why.slice(0, 1)).map((why, nth) => (
        <p key={why} class={nth === 0 ? 'lead' : undefined}>
          <Foreign text={sentence(why)} clip={false} />
        </p>
      ))}
      {link === null || history.can.length === 0 ? null : (
        <div class="row-actions">
          {history.can.map((action) => (
            <Button
              key={action}
              kind={action === 'remove' ? 'plain' : 'primary'}
              onClick={() => askLink(action, { crawl, fp, url, host: link.host }, onChanged)}
            >
              {LINK_ACTIONS[action].name}
            </Button>
          ))}
        </div>
      )}
      <ol class="timeline">
        <Admitted history={history} now={now} />
        <Attempts history={history} now={now} />
        <Now history={history} now={now} />
        <Records history={history} now={now} />
      </ol>
    </article>
  )
}

interface StepProps {
  readonly shape: Shape
  readonly tone?: 'ok' | 'warn' | 'bad' | 'go'
  readonly title: ComponentChildren
  readonly at?: string
  readonly children?: ComponentChildren
}

function Step({ shape, tone, title, at, children }: StepProps) {
  return (
    <li class={tone === undefined ? 'step' : `step ${tone}`}>
      <span class="step-mark">
        <Icon shape={shape} size={12} />
      </span>
      <div class="step-body">
        <p class="step-title">
          <span>{title}</span>
          {at === undefined ? null : <time class="muted">{at}</time>}
        </p>
        {children}
      </div>
    </li>
  )
}

interface PartProps {
  readonly history: UrlHistory
  readonly now: number
}

function Admitted({ history: { admitted, link, fp }, now }: PartProps) {
  if (admitted === null) return null
  return (
    <Step shape="arrow" title="Accepted" at={link === null ? undefined : ago(link.addedAt, now)}>
      <p class="long-text">
        <Foreign text={admitted.by} clip={false} />
      </p>
      <p class="muted">
        route <Foreign text={admitted.route} clip={false} /> · depth {count(admitted.depth)} · priority{' '}
        {count(admitted.priority)} · fingerprint <code>{fp}</code>
      </p>
    </Step>
  )
}

function Attempts({ history: { attempts, link }, now }: PartProps) {
  const hasAttempts = attempts.length > 0
  return (
    <>
      {attempts.map(({ at, attempt, worker, status, ms, bytes: size, proxy, error, page }) => (
        <Step
          key={`${at} ${attempt}`}
          shape={error === null ? 'check' : 'cross'}
          tone={error === null ? 'ok' : 'bad'}
          title={`Attempt ${count(attempt)}: ${status === 0 ? 'no response' : `status ${status}`}`}
          at={clockTime(at, now)}
        >
          {error === null ? null : (
            <p class="long-text">
              <code>{error.code}</code> <Foreign text={error.message} clip={false} />
            </p>
          )}
          <p class="muted">
            {duration(ms)} · {bytes(size)} · by <Foreign text={worker} clip={false} />
            {proxy === null ? ' · no proxy' : ' · through '}
            {proxy === null ? null : <Foreign text={proxy} clip={false} />}
            {page ? ' · page kept' : ''}
          </p>
        </Step>
      ))}
      {hasAttempts
        ? null
        : (link?.failures ?? []).map(({ at, code, message }) => (
            <Step key={at} shape="cross" tone="bad" title={<code>{code}</code>} at={clockTime(at, now)}>
              <p class="long-text">
                <Foreign text={message} clip={false} />
              </p>
            </Step>
          ))}
    </>
  )
}

const NOW: Readonly<Record<LinkState, readonly [Shape, StepProps['tone'], string]>> = {
  queued: ['clock', 'warn', 'Waiting in the queue'],
  delayed: ['clock', 'warn', 'Waiting for a retry'],
  leased: ['play', 'go', 'In flight'],
  done: ['check', 'ok', 'Done'],
  dead: ['cross', 'bad', 'Dead letter'],
  skipped: ['skip', undefined, 'Skipped'],
}

/** Its current state and what it waits for; the first reason is shown at the top. */
function Now({ history: { state, link, why, crawl, nextSlot }, now }: PartProps) {
  if (link === null || state === 'unknown') return null
  const [shape, tone, title] = NOW[state]
  return (
    <Step shape={shape} tone={tone} title={title} at={whenOf(link, now)}>
      {why.slice(1).map((one) => (
        <p key={one}>
          <Foreign text={sentence(one)} clip={false} />
        </p>
      ))}
      {state === 'delayed' && nextSlot !== null ? (
        <p>
          Next slot of its host: <Foreign text={sentence(nextSlot)} clip={false} />
        </p>
      ) : null}
      <p class="muted">
        host{' '}
        <a href={crawlHref(crawl, 'hosts', { begins: link.host, order: 'name' })}>
          <Foreign text={link.host} clip={false} />
        </a>
        {link.worker === null || state !== 'leased' ? null : (
          <>
            {' '}
            · on <Foreign text={link.worker} clip={false} />
          </>
        )}
      </p>
    </Step>
  )
}

function whenOf({ state, leasedAt, endedAt, dueAt }: LinkInfo, now: number): string | undefined {
  if (state === 'leased') return leasedAt === null ? undefined : `for ${duration(now - leasedAt)}`
  if (state === 'delayed') return dueAt === null || dueAt <= now ? 'due now' : `due in ${duration(dueAt - now)}`
  return state === 'queued' || endedAt === null ? undefined : clockTime(endedAt, now)
}

function Records({ history: { records }, now }: PartProps) {
  return (
    <>
      {records.map(({ kind, key, changedAt, data }) => (
        <Step
          key={`${kind} ${key}`}
          shape="out"
          tone="ok"
          title={
            <>
              Record <Foreign text={kind} clip={false} /> <Foreign text={key} clip={false} />
            </>
          }
          at={clockTime(changedAt, now)}
        >
          <JsonText value={data} />
        </Step>
      ))}
    </>
  )
}
