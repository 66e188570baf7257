import { useState } from 'preact/hooks'
import type { Counted, DeadOrder, DeadView, LinkView, Page } from '../../../src/api/api-types.js'
import { get, path, post } from '../api.js'
import { ago, count, plural } from '../format.js'
import { useLoad, usePages } from '../load.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Empty, Loading } from '../parts/empty.js'
import { SearchBox } from '../parts/search-box.js'
import { type Column, Table } from '../parts/table.js'
import { Foreign } from '../parts/text.js'
import { crawlHref, replaceQuery } from '../router.js'
import { LinkButtons } from './link-orders.js'
import { PartFailure } from './part-failure.js'
import { useQueueTime } from './queue-time.js'
import type { CrawlPartProps } from './view.js'

const EVERY_MS = 3_000
const PAGE_LINKS = 50
type Group = DeadView['groups'][number]

/** Dead letters by error: a hint, an example, and a way to replay them. */
export function Dead({ view, query }: CrawlPartProps) {
  const crawl = view.stats.id
  const { value, failure, reload } = useLoad<DeadView>(path('crawls', crawl, 'dead'), {}, EVERY_MS)
  const groups = value?.groups ?? []
  const total = groups.reduce((sum, group) => sum + group.count, 0)
  const most = Math.max(1, ...groups.map((group) => group.count))
  const host = query.host ?? ''
  if (value === null) return failure === null ? <Loading /> : <PartFailure failure={failure} again={reload} />
  return (
    <>
      <PartFailure failure={failure} again={reload} />
      {total === 0 ? (
        <Empty title="No dead letters">Every link that ended was fetched successfully or skipped for a reason.</Empty>
      ) : (
        <>
          <div class="filters">
            <p class="counted">{plural(total, 'dead letter')}</p>
            <Button onClick={() => ask(crawl, 'replay', {}, total, reload)}>Replay all</Button>
            <Button onClick={() => ask(crawl, 'purge', {}, total, reload)}>Purge all</Button>
            <SearchBox
              label="Filter by host"
              placeholder="Host: shop.example"
              value={host}
              onSearch={(text) => replaceQuery({ host: text.trim(), code: query.code ?? '' })}
            />
            {host === '' ? null : <OfHost crawl={crawl} host={host} onChanged={reload} />}
          </div>
          <ul class="groups">
            {groups.map((group) => (
              <GroupCard
                key={group.code}
                crawl={crawl}
                group={group}
                most={most}
                host={host}
                open={query.code === group.code}
                onChanged={reload}
              />
            ))}
          </ul>
        </>
      )}
    </>
  )
}

/** Groups are counted over all hosts; those of one host are counted only when an action needs it. */
function useCountedAsk(crawl: string, filter: DeadOrder, onChanged: () => void) {
  const [busy, setBusy] = useState(false)
  const counted = async (action: 'replay' | 'purge') => {
    setBusy(true)
    const found = await countOf(crawl, filter).catch(() => null)
    setBusy(false)
    ask(crawl, action, filter, found, onChanged)
  }
  return { busy, counted }
}

function OfHost({
  crawl,
  host,
  onChanged,
}: {
  readonly crawl: string
  readonly host: string
  readonly onChanged: () => void
}) {
  const { busy, counted } = useCountedAsk(crawl, { host }, onChanged)
  return (
    <>
      <Button busy={busy} onClick={() => counted('replay')}>
        Replay those of this host
      </Button>
      <Button busy={busy} onClick={() => counted('purge')}>
        Purge those of this host
      </Button>
    </>
  )
}

interface GroupCardProps {
  readonly crawl: string
  readonly group: Group
  readonly most: number
  readonly host: string
  readonly open: boolean
  readonly onChanged: () => void
}

function GroupCard({ crawl, group, most, host, open, onChanged }: GroupCardProps) {
  const { code, sample, examples, hint } = group
  const shown = examples.length > 0 ? examples : [{ message: '', url: sample }]
  const samples = `samples-${code}`
  return (
    <li class="group">
      <div class="group-head">
        <h2>
          <code>{code}</code>
        </h2>
        <span class="group-bar" aria-hidden="true">
          <span style={{ width: `${(group.count / most) * 100}%` }} />
        </span>
        <b>{count(group.count)}</b>
      </div>
      <p>{hint}</p>
      {shown.map(({ message, url }) => (
        <div key={url} class="example">
          {message === '' ? null : (
            <p>
              <Foreign text={message} clip={false} />
            </p>
          )}
          <p class="clip-line muted">
            <span>For example</span>
            <a href={crawlHref(crawl, 'explain', { url })} title="The full history of this link">
              <Foreign text={url} />
            </a>
          </p>
        </div>
      ))}
      <div class="row-actions">
        {host === '' ? (
          <>
            <Button
              small
              kind="primary"
              label={`Replay ${count(group.count)} with ${code}`}
              onClick={() => ask(crawl, 'replay', { code }, group.count, onChanged)}
            >
              Replay {count(group.count)}
            </Button>
            <Button
              small
              label={`Purge all with ${code}`}
              onClick={() => ask(crawl, 'purge', { code }, group.count, onChanged)}
            >
              Purge
            </Button>
          </>
        ) : (
          <GroupOfHost crawl={crawl} code={code} host={host} onChanged={onChanged} />
        )}
        <button
          type="button"
          class="button quiet small"
          aria-expanded={open}
          aria-controls={samples}
          onClick={() => replaceQuery({ code: open ? '' : code, host })}
        >
          {open ? 'Hide the links' : 'Show the links'}
        </button>
      </div>
      <div id={samples}>{open ? <Samples crawl={crawl} code={code} host={host} onChanged={onChanged} /> : null}</div>
    </li>
  )
}

function GroupOfHost({ crawl, code, host, onChanged }: SamplesProps) {
  const { busy, counted } = useCountedAsk(crawl, { code, host }, onChanged)
  const of = `with ${code} of this host`
  return (
    <>
      <Button small kind="primary" busy={busy} label={`Replay those ${of}`} onClick={() => counted('replay')}>
        Replay those of this host
      </Button>
      <Button small busy={busy} label={`Purge those ${of}`} onClick={() => counted('purge')}>
        Purge
      </Button>
    </>
  )
}

interface SamplesProps {
  readonly crawl: string
  readonly code: string
  readonly host: string
  readonly onChanged: () => void
}

function Samples({ crawl, code, host, onChanged }: SamplesProps) {
  const links = usePages<LinkView>(path('crawls', crawl, 'links'), { state: 'dead', code, host, limit: PAGE_LINKS })
  const now = useQueueTime()
  const changed = () => {
    links.reload()
    onChanged()
  }
  if (links.items.length === 0 && !links.loading && links.failure === null)
    return <p class="muted">None{host === '' ? '' : ` of ${host}`} left.</p>
  return (
    <>
      <PartFailure failure={links.failure} again={links.reload} />
      <Table
        label={`Dead letters with ${code}`}
        columns={columns(crawl, now, changed)}
        rows={links.items}
        rowKey={({ fp }) => fp}
        more={links.more}
        loading={links.loading}
      />
    </>
  )
}

function columns(crawl: string, now: number, onChanged: () => void): readonly Column<LinkView>[] {
  return [
    {
      key: 'url',
      head: 'Link',
      width: 'minmax(0, 2fr)',
      cell: ({ url }) => (
        <a class="explained" href={crawlHref(crawl, 'explain', { url })} title="The full history of this link">
          <Foreign text={url} />
        </a>
      ),
    },
    {
      key: 'says',
      head: 'Message',
      width: 'minmax(0, 2fr)',
      whole: true,
      cell: ({ failures }) => <Foreign text={failures.at(-1)?.message ?? '–'} />,
    },
    { key: 'attempts', head: 'Attempts', width: '5.2rem', align: 'end', cell: ({ attempts }) => count(attempts) },
    {
      key: 'ended',
      head: 'Ended',
      width: '7.5rem',
      align: 'end',
      cell: ({ endedAt }) => (endedAt === null ? '–' : ago(endedAt, now)),
    },
    {
      key: 'actions',
      head: '',
      width: '9.6rem',
      whole: true,
      cell: (link) => <LinkButtons actions={['replay', 'remove']} link={{ crawl, ...link }} onChanged={onChanged} />,
    },
  ]
}

/** `about`: how many there are; null: not known. */
function ask(
  crawl: string,
  action: 'replay' | 'purge',
  filter: DeadOrder,
  about: number | Counting | null,
  onChanged: () => void,
): void {
  const which = `${filter.code === undefined ? '' : ` with ${filter.code}`}${filter.host === undefined ? '' : ` of ${filter.host}`}`
  const many = about === null ? 'all dead letters' : typeof about === 'number' ? dead(about) : countingText(about)
  const replay = action === 'replay'
  confirm({
    title: replay ? `Replay ${many}${which}?` : `Purge ${many}${which}?`,
    says: replay ? (
      <p>
        They return to the queue with a fresh set of attempts, at the pace of their hosts. A finished crawl runs again.
      </p>
    ) : (
      <p>They are removed for good and count as skipped. Only a fresh crawl visits them again.</p>
    ),
    action: replay ? 'Replay them' : 'Purge them',
    danger: !replay,
    async run() {
      const done = await post<Counted>(path('crawls', crawl, 'dead', action), filter)
      onChanged()
      return replay ? `${plural(done.count, 'link')} back in the queue` : `${plural(done.count, 'link')} removed`
    },
  })
}

interface Counting {
  readonly found: number
  readonly more: boolean
}

function dead(found: number): string {
  return plural(found, 'dead letter')
}

function countingText({ found, more }: Counting): string {
  return more ? `more than ${dead(found)}` : dead(found)
}

const PAGE_COUNTED = 500
/** A page may be short even if it is not the last. */
const PAGES_COUNTED = 5

/** Counts by reading links; past a limit it is enough to know that there are more. */
async function countOf(crawl: string, { host, code }: DeadOrder): Promise<Counting> {
  let found = 0
  let after: string | undefined
  for (let pages = 0; pages < PAGES_COUNTED; pages += 1) {
    const query = { state: 'dead', host, code, limit: PAGE_COUNTED, after }
    const page: Page<LinkView> = await get(path('crawls', crawl, 'links'), query)
    found += page.items.length
    if (page.next === null) return { found, more: false }
    after = page.next
  }
  return { found, more: true }
}
