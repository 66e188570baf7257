import type { TargetedSubmitEvent } from 'preact'
import { useId, useState } from 'preact/hooks'
import type { HostDone, HostOrder, HostView } from '../../../src/api/api-types.js'
import { path, put } from '../api.js'
import { count, duration, plural } from '../format.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Dialog } from '../parts/dialog.js'
import { StateBadge } from '../parts/state-badge.js'
import { Facts } from './facts.js'
import { isBlocked, isSetByHand, paceText } from './host-pace.js'

export interface HostEditorProps {
  readonly host: HostView
  readonly onChanged: () => void
  readonly onClose: () => void
}

/** A host's current pace, the reason for it, and how to change it. */
export function HostEditor({ host, onChanged, onClose }: HostEditorProps) {
  return (
    <Dialog title={host.host} onClose={onClose} wide>
      <Facts
        facts={[
          ['Next slot', host.nextSlot],
          ['Pace', paceText(host)],
          ['Latency', host.latencyMs === null ? 'not known yet' : duration(host.latencyMs)],
          [
            'Rate limited us',
            host.throttles === 0
              ? 'not recently'
              : host.throttles === 1
                ? 'once'
                : `${count(host.throttles)} times in a row`,
          ],
          ['robots.txt', floorText(host)],
          ['Budget', budgetText(host)],
        ]}
      />
      <PaceForm host={host} onChanged={onChanged} />
      <div class="actions">
        {isSetByHand(host) ? (
          <Button onClick={() => askReset(host, onChanged)}>Back to the spider’s pace</Button>
        ) : null}
        {isBlocked(host) ? (
          <>
            <StateBadge state="blocked" text="blocked manually" />
            <Button onClick={() => askUnblock(host, onChanged)}>Unblock</Button>
          </>
        ) : (
          <Button onClick={() => askBlock(host, onChanged)}>Block</Button>
        )}
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

function PaceForm({ host, onChanged }: Pick<HostEditorProps, 'host' | 'onChanged'>) {
  const [delayId, concurrencyId] = [useId(), useId()]
  const [delay, setDelay] = useState(String((host.slowedFromMs ?? host.delayMs) / 1000))
  const [concurrency, setConcurrency] = useState(String(host.concurrency))
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    const order = { delayMs: Math.round(Number(delay) * 1000), concurrency: Number(concurrency) }
    askPace(host.host, order, onChanged)
  }
  return (
    <form class="pace-form" onSubmit={submit}>
      <label for={delayId}>Seconds between requests</label>
      <input
        id={delayId}
        type="number"
        inputMode="decimal"
        min="0"
        max="86400"
        step="any"
        required
        value={delay}
        onInput={(event) => setDelay(event.currentTarget.value)}
      />
      <label for={concurrencyId}>Requests at once</label>
      <input
        id={concurrencyId}
        type="number"
        inputMode="numeric"
        min="1"
        max="10000"
        step="1"
        required
        value={concurrency}
        onInput={(event) => setConcurrency(event.currentTarget.value)}
      />
      <Button kind="primary" submit>
        Change the pace
      </Button>
    </form>
  )
}

const FOR_ALL = 'This applies from the next request on, to all workers and all crawls, until someone changes it back.'

function askPace(host: string, order: { delayMs: number; concurrency: number }, onChanged: () => void): void {
  confirm({
    title: `Change the pace of ${host}?`,
    says: (
      <>
        <p>
          {order.delayMs === 0 ? 'No delay' : `${duration(order.delayMs)} between requests`}, {count(order.concurrency)}{' '}
          at once. The crawl delay in robots.txt still applies.
        </p>
        <p>{FOR_ALL}</p>
      </>
    ),
    action: 'Change the pace',
    run: () => set(host, order, `${host} has a new pace`, onChanged),
  })
}

function askReset({ host }: HostView, onChanged: () => void): void {
  confirm({
    title: `Reset the pace of ${host}?`,
    says: (
      <p>The pace of each crawl’s spider applies again, for all workers and all crawls, from the next request on.</p>
    ),
    action: 'Reset the pace',
    run: () => set(host, { delayMs: null, concurrency: null }, `${host} is back to the spider’s pace`, onChanged),
  })
}

function askBlock({ host, pending }: HostView, onChanged: () => void): void {
  confirm({
    title: `Block ${host}?`,
    says: (
      <>
        <p>
          No more requests are sent to it; requests in flight are finished. {count(pending)} links of this crawl wait
          until it is unblocked, so the crawl cannot finish.
        </p>
        <p>{FOR_ALL}</p>
      </>
    ),
    action: 'Block the host',
    danger: true,
    run: () => set(host, { blocked: true }, `${host} is blocked`, onChanged),
  })
}

function askUnblock({ host }: HostView, onChanged: () => void): void {
  confirm({
    title: `Unblock ${host}?`,
    says: <p>Its links are handed out again, at its pace, for all workers and all crawls.</p>,
    action: 'Unblock the host',
    run: () => set(host, { blocked: false }, `${host} is unblocked`, onChanged),
  })
}

async function set(host: string, order: HostOrder, done: string, onChanged: () => void): Promise<string> {
  const { known } = await put<HostDone>(path('hosts', host), order)
  onChanged()
  return known ? done : `${done}; no crawl has links on it yet`
}

function floorText({ set }: HostView): string {
  const floorMs = set?.floorMs ?? null
  return floorMs === null ? 'asks for no delay' : `never faster than every ${duration(floorMs)}`
}

function budgetText({ budget }: HostView): string {
  return budget.of === null
    ? `${plural(budget.used, 'page')}, no limit`
    : `${count(budget.used)} of ${plural(budget.of, 'page')}`
}
