import { useCallback, useState } from 'preact/hooks'
import type { HostView } from '../../../src/api/api-types.js'
import { path } from '../api.js'
import { count, duration, shortCount } from '../format.js'
import { Button } from '../parts/button.js'
import { Empty } from '../parts/empty.js'
import { SearchBox } from '../parts/search-box.js'
import { StateBadge } from '../parts/state-badge.js'
import { type Column, Table } from '../parts/table.js'
import { Choice } from '../parts/tabs.js'
import { Foreign } from '../parts/text.js'
import { replaceQuery } from '../router.js'
import { HostEditor } from './host-editor.js'
import { isBlocked, isSetByHand, shortPaceText } from './host-pace.js'
import { useLivePages } from './live-pages.js'
import { PartFailure } from './part-failure.js'
import type { CrawlPartProps } from './view.js'

const PAGE_HOSTS = 200
const EVERY_MS = 2_000

const ORDERS = [
  { value: 'busiest', name: 'Busiest first' },
  { value: 'name', name: 'By name' },
] as const

/** Every host of the crawl: its state, its next slot, and a way to change its pace. */
export function Hosts({ view, query }: CrawlPartProps) {
  const begins = query.begins ?? ''
  const order = query.order === 'name' || begins !== '' ? 'name' : 'busiest'
  const hosts = useLivePages<HostView>(
    path('crawls', view.stats.id, 'hosts'),
    { limit: PAGE_HOSTS, order, begins },
    hostOf,
    EVERY_MS,
  )
  const [open, setOpen] = useState<string | null>(null)
  const opened = hosts.items.find(({ host }) => host === open)
  const search = useCallback((text: string) => replaceQuery({ begins: text.trim(), order }), [order])
  return (
    <>
      <div class="filters">
        <SearchBox label="Hosts that start with" placeholder="Starts with…" value={begins} onSearch={search} />
        <Choice
          label="Order"
          options={ORDERS}
          value={order}
          onChange={(value) => replaceQuery({ order: value, begins: value === 'busiest' ? '' : begins })}
        />
      </div>
      <PartFailure failure={hosts.failure} again={hosts.reload} />
      {hosts.items.length === 0 && !hosts.loading && hosts.failure === null ? (
        <Empty title={begins === '' ? 'No hosts yet' : `No host starts with “${begins}”`}>
          {begins === ''
            ? 'They appear with the first links.'
            : 'Names are matched from the start: shop finds shop.example.'}
        </Empty>
      ) : (
        <Table
          label="Hosts"
          columns={columns(setOpen)}
          rows={hosts.items}
          rowKey={hostOf}
          more={hosts.more}
          loading={hosts.loading && hosts.items.length === 0}
          onSight={hosts.onSight}
          rowClass={(host) => (isBlocked(host) ? 'closed' : '')}
        />
      )}
      {order === 'busiest' && hosts.items.length >= PAGE_HOSTS ? (
        <p class="table-end">
          Showing the {count(PAGE_HOSTS)} busiest hosts.
          <Button small onClick={() => replaceQuery({ order: 'name' })}>
            Show all, by name
          </Button>
        </p>
      ) : null}
      {opened === undefined ? null : (
        <HostEditor host={opened} onChanged={hosts.reload} onClose={() => setOpen(null)} />
      )}
    </>
  )
}

const hostOf = ({ host }: HostView) => host

function columns(open: (host: string) => void): readonly Column<HostView>[] {
  return [
    {
      key: 'host',
      head: 'Host',
      width: 'minmax(0, 1.7fr)',
      cell: (host) => (
        <span class="marked">
          <button type="button" class="as-link" aria-haspopup="dialog" onClick={() => open(host.host)}>
            <Foreign text={host.host} />
          </button>
          <Marks host={host} />
        </span>
      ),
    },
    { key: 'pending', head: 'Pending', width: '4.6rem', align: 'end', cell: ({ pending }) => count(pending) },
    { key: 'inFlight', head: 'In flight', width: '5rem', align: 'end', cell: ({ inFlight }) => count(inFlight) },
    { key: 'done', head: 'Done', width: '4.6rem', align: 'end', cell: ({ done }) => count(done) },
    {
      key: 'failed',
      head: 'Failed',
      width: '3.6rem',
      align: 'end',
      from: 'medium',
      cell: ({ failed }) => <Bad value={failed} tone="warn" />,
    },
    {
      key: 'dead',
      head: 'Dead',
      width: '3.4rem',
      align: 'end',
      from: 'medium',
      cell: ({ dead }) => <Bad value={dead} tone="bad" />,
    },
    {
      key: 'latency',
      head: 'Latency',
      width: '5.2rem',
      align: 'end',
      cell: ({ latencyMs }) => (latencyMs === null ? '–' : duration(latencyMs)),
    },
    {
      key: 'pace',
      head: 'Pace',
      width: 'minmax(0, 1.1fr)',
      whole: true,
      cell: (host) => <Foreign text={shortPaceText(host)} />,
    },
    {
      key: 'slot',
      head: 'Next slot',
      width: 'minmax(0, 2.2fr)',
      whole: true,
      cell: ({ nextSlot }) => <Foreign text={nextSlot} />,
    },
    {
      key: 'budget',
      head: 'Budget',
      width: '6.8rem',
      align: 'end',
      from: 'wide',
      cell: ({ budget }) =>
        budget.of === null ? 'no limit' : `${shortCount(budget.used)} of ${shortCount(budget.of)}`,
    },
  ]
}

/** The most important unusual thing about it. */
function Marks({ host }: { readonly host: HostView }) {
  if (isBlocked(host)) return <StateBadge state="blocked" />
  if (host.throttles > 0) return <StateBadge state="resting" text="rate limited" />
  if (host.slowedFromMs !== null) return <StateBadge state="delayed" text="slowed" />
  if (isSetByHand(host)) return <StateBadge state="queued" text="manual" />
  return null
}

function Bad({ value, tone }: { readonly value: number; readonly tone: 'warn' | 'bad' }) {
  return <span class={value === 0 ? 'muted' : `${tone}-text`}>{count(value)}</span>
}
