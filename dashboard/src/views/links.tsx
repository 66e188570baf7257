import { useCallback } from 'preact/hooks'
import type { LinkState, LinkView } from '../../../src/api/api-types.js'
import { path } from '../api.js'
import { ago, count, duration } from '../format.js'
import { Empty } from '../parts/empty.js'
import { SearchBox } from '../parts/search-box.js'
import { type Column, Table } from '../parts/table.js'
import { Choice } from '../parts/tabs.js'
import { Foreign } from '../parts/text.js'
import { crawlHref, replaceQuery } from '../router.js'
import { type LinkAction, LinkButtons } from './link-orders.js'
import { useLivePages } from './live-pages.js'
import { PartFailure } from './part-failure.js'
import { useQueueTime } from './queue-time.js'
import type { CrawlPartProps } from './view.js'

const PAGE_LINKS = 100
const EVERY_MS = 2_000

const STATES = [
  { value: 'leased', name: 'In flight' },
  { value: 'queued', name: 'Queued' },
  { value: 'delayed', name: 'Delayed' },
  { value: 'dead', name: 'Dead' },
  { value: 'skipped', name: 'Skipped' },
] as const
type ShownState = (typeof STATES)[number]['value']

/** Links in flight cannot be changed, and those that were done or removed are no longer in the queue. */
const CAN: Readonly<Record<ShownState, readonly LinkAction[]>> = {
  leased: [],
  queued: ['promote', 'remove'],
  delayed: ['promote', 'retry', 'remove'],
  dead: ['replay', 'remove'],
  skipped: [],
}

const NOTHING: Readonly<Record<ShownState, readonly [string, string]>> = {
  leased: ['No links in flight', 'Either no worker is running for this crawl, or nothing is due now.'],
  queued: ['No queued links', 'The remaining links are waiting for a retry, in flight, or have ended.'],
  delayed: ['No links waiting for a retry', 'Links appear here after a failure, until their next attempt is due.'],
  dead: ['No dead letters', 'No link has failed for good.'],
  skipped: ['No skipped links', 'Links appear here when robots.txt disallows them, or when someone removes them.'],
}

/** Links of the crawl by state, with the actions for each. */
export function Links({ view, query }: CrawlPartProps) {
  const crawl = view.stats.id
  const state = STATES.find(({ value }) => value === query.state)?.value ?? 'leased'
  const host = query.host ?? ''
  const links = useLivePages<LinkView>(
    path('crawls', crawl, 'links'),
    { state, host, limit: PAGE_LINKS },
    ({ fp }) => fp,
    EVERY_MS,
  )
  const now = useQueueTime()
  const search = useCallback((text: string) => replaceQuery({ state, host: text.trim() }), [state])
  const [nothing, why] = NOTHING[state]
  return (
    <>
      <div class="filters">
        <Choice
          label="State"
          options={STATES}
          value={state}
          onChange={(value) => replaceQuery({ state: value, host })}
        />
        <SearchBox label="Filter by host" value={host} placeholder="shop.example" onSearch={search} />
      </div>
      <PartFailure failure={links.failure} again={links.reload} />
      {links.items.length === 0 && !links.loading && links.failure === null ? (
        <Empty title={host === '' ? nothing : `${nothing} on ${host}`}>{why}</Empty>
      ) : (
        <Table
          label="Links"
          columns={columnsOf(state, crawl, now, links.reload)}
          rows={links.items}
          rowKey={({ fp }) => fp}
          more={links.more}
          loading={links.loading && links.items.length === 0}
          onSight={links.onSight}
        />
      )}
    </>
  )
}

function columnsOf(state: ShownState, crawl: string, now: number, onChanged: () => void): readonly Column<LinkView>[] {
  const actions = CAN[state]
  return [
    {
      key: 'url',
      head: 'Link',
      width: 'minmax(0, 3fr)',
      cell: ({ url }) => (
        <a class="explained" href={crawlHref(crawl, 'explain', { url })} title="The full history of this link">
          <Foreign text={url} />
        </a>
      ),
    },
    ...whereOf(state, now),
    { key: 'attempts', head: 'Attempts', width: '5.2rem', align: 'end', cell: (link) => attemptsText(link) },
    {
      key: 'route',
      head: 'Route',
      width: 'minmax(4rem, .6fr)',
      cell: ({ route }) => <Foreign text={route} />,
      from: 'medium',
    },
    {
      key: 'priority',
      head: 'Priority',
      width: '4.6rem',
      align: 'end',
      cell: ({ priority }) => count(priority),
      from: 'medium',
    },
    ...(actions.length === 0
      ? []
      : [
          {
            key: 'actions',
            head: '',
            width: `${actions.length * 5.1 - 0.5}rem`,
            whole: true,
            cell: (link: LinkView) => <LinkButtons actions={actions} link={{ crawl, ...link }} onChanged={onChanged} />,
          },
        ]),
  ]
}

/** The columns that matter in this state. */
function whereOf(state: LinkState, now: number): readonly Column<LinkView>[] {
  if (state === 'leased') {
    return [
      {
        key: 'age',
        head: 'For',
        width: '5rem',
        align: 'end',
        cell: ({ ageMs }) => (ageMs === null ? '–' : duration(ageMs)),
      },
      {
        key: 'worker',
        head: 'Worker',
        width: 'minmax(0, 1fr)',
        cell: ({ worker }) => <Foreign text={worker ?? '–'} />,
      },
      {
        key: 'proxy',
        head: 'Proxy',
        width: 'minmax(0, .9fr)',
        cell: ({ proxy }) => <Foreign text={proxy ?? 'none'} />,
      },
    ]
  }
  if (state === 'queued') {
    return [{ key: 'added', head: 'Added', width: '7rem', align: 'end', cell: ({ addedAt }) => ago(addedAt, now) }]
  }
  const failure: Column<LinkView> = {
    key: 'failure',
    head: 'Last failure',
    width: 'minmax(0, 1.8fr)',
    whole: true,
    cell: ({ failures }) => <LastFailure failures={failures} />,
  }
  if (state === 'delayed') {
    return [
      {
        key: 'due',
        head: 'Due',
        width: '6rem',
        align: 'end',
        cell: ({ dueAt }) => (dueAt === null || dueAt <= now ? 'now' : `in ${duration(dueAt - now)}`),
      },
      failure,
    ]
  }
  return [
    {
      key: 'ended',
      head: 'Ended',
      width: '7.5rem',
      align: 'end',
      cell: ({ endedAt }) => (endedAt === null ? '–' : ago(endedAt, now)),
    },
    failure,
  ]
}

function LastFailure({ failures }: Pick<LinkView, 'failures'>) {
  const last = failures.at(-1)
  if (last === undefined) return <span class="muted">–</span>
  return (
    <span class="clip-line">
      <code>{last.code}</code> <Foreign text={last.message} />
    </span>
  )
}

function attemptsText({ attempts, throttles, state }: LinkView): string {
  const used = state === 'leased' ? attempts + 1 : attempts
  return throttles === 0 ? count(used) : `${count(used)} (+${count(throttles)})`
}
