import { useCallback, useEffect, useId, useRef, useState } from 'preact/hooks'
import type { RecordsPage, RecordView } from '../../../src/api/api-types.js'
import { type ApiFailure, get, isAborted, path, type Query } from '../api.js'
import { clockTime, count, plural } from '../format.js'
import { failureFrom } from '../load.js'
import { Button } from '../parts/button.js'
import { Dialog } from '../parts/dialog.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { SearchBox } from '../parts/search-box.js'
import { type Column, Table } from '../parts/table.js'
import { Foreign, Outside } from '../parts/text.js'
import { replaceQuery } from '../router.js'
import { Facts } from './facts.js'
import { JsonText } from './json-text.js'
import { useQueueTime } from './queue-time.js'
import { fieldText, mostFilled } from './record-columns.js'
import type { ViewProps } from './view.js'

const PAGE_RECORDS = 50
const COLUMNS = 5

interface Found {
  readonly items: readonly RecordView[]
  readonly next: string | null
  readonly searched: number
  readonly kinds: RecordsPage['kinds']
}

/** Browse and search the records. */
export function Records({ query }: ViewProps) {
  const { spider = '', kind = '', text = '' } = query
  const { found, failure, loading, more, reload } = useRecords({ spider, kind, text, limit: PAGE_RECORDS })
  const [open, setOpen] = useState<RecordView | null>(null)
  const now = useQueueTime()
  const search = useCallback((words: string) => replaceQuery({ spider, kind, text: words.trim() }), [spider, kind])
  return (
    <>
      <h1>Records</h1>
      <div class="filters">
        <KindChoice
          kinds={found?.kinds ?? []}
          spider={spider}
          kind={kind}
          onChange={(chosen) => replaceQuery({ ...chosen, text })}
        />
        <SearchBox
          label="Search in records"
          placeholder="Search text, such as a title"
          value={text}
          onSearch={search}
        />
      </div>
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      {found === null ? (
        loading ? (
          <Loading />
        ) : null
      ) : (
        <>
          {text === '' ? null : (
            <p class="counted">{`${plural(found.items.length, 'record')} found among ${count(found.searched)} searched so far`}</p>
          )}
          {found.items.length === 0 ? (
            <Nothing text={text} searched={found.searched} done={found.next === null} />
          ) : (
            <Table
              label="Records"
              columns={columnsOf(found.items, now, setOpen)}
              rows={found.items}
              rowKey={recordKey}
              more={text === '' ? more : null}
              loading={loading}
            />
          )}
          {text === '' || found.next === null ? null : (
            <p class="table-end">
              <Button busy={loading} onClick={() => more?.()}>
                Keep searching
              </Button>
            </p>
          )}
        </>
      )}
      {open === null ? null : <RecordDialog record={open} now={now} onClose={() => setOpen(null)} />}
    </>
  )
}

function Nothing({
  text,
  searched,
  done,
}: {
  readonly text: string
  readonly searched: number
  readonly done: boolean
}) {
  if (text === '') return <Empty title="No records yet">They appear with the first pages that yield some.</Empty>
  return (
    <Empty title={done ? 'Nothing found' : 'Nothing found so far'}>
      {done
        ? `None of ${plural(searched, 'record')} contains this text.`
        : 'A search reads a few thousand records at a time.'}
    </Empty>
  )
}

const recordKey = ({ spider, site, kind, key }: RecordView) => JSON.stringify([spider, site, kind, key])

function columnsOf(
  records: readonly RecordView[],
  now: number,
  open: (record: RecordView) => void,
): readonly Column<RecordView>[] {
  const fields = mostFilled(records.slice(0, PAGE_RECORDS), COLUMNS)
  return [
    {
      key: 'key',
      head: 'Key',
      width: 'minmax(0, 1.4fr)',
      cell: (record) => (
        <button type="button" class="as-link" aria-haspopup="dialog" onClick={() => open(record)}>
          <Foreign text={record.key} />
        </button>
      ),
    },
    { key: 'kind', head: 'Kind', width: 'minmax(0, .7fr)', cell: ({ kind }) => <Foreign text={kind} /> },
    ...fields.map(
      (field, nth): Column<RecordView> => ({
        key: `field ${field}`,
        head: field,
        width: 'minmax(0, 1fr)',
        ...(nth < 3 ? {} : { from: nth === 3 ? ('medium' as const) : ('wide' as const) }),
        cell: ({ data }) => <Foreign text={fieldText(data, field)} />,
      }),
    ),
    {
      key: 'changed',
      head: 'Changed',
      width: '7rem',
      align: 'end',
      cell: ({ changedAt }) => clockTime(changedAt, now),
    },
  ]
}

interface KindChoiceProps {
  readonly kinds: RecordsPage['kinds']
  readonly spider: string
  readonly kind: string
  readonly onChange: (chosen: { spider: string; kind: string }) => void
}

function KindChoice({ kinds, spider, kind, onChange }: KindChoiceProps) {
  const id = useId()
  const chosen = kinds.findIndex((one) => one.spider === spider && one.kind === kind)
  return (
    <span class="select">
      <label for={id}>Spider and kind</label>
      <select
        id={id}
        value={String(chosen)}
        onChange={(event) => {
          const { spider = '', kind = '' } = kinds[Number(event.currentTarget.value)] ?? {}
          onChange({ spider, kind })
        }}
      >
        <option value="-1">All</option>
        {kinds.map((one, nth) => (
          <option key={`${one.spider} ${one.kind}`} value={String(nth)}>
            {`${one.spider.slice(0, 80)} · ${one.kind.slice(0, 80)} (${count(one.count)})`}
          </option>
        ))}
      </select>
    </span>
  )
}

function RecordDialog({
  record,
  now,
  onClose,
}: {
  readonly record: RecordView
  readonly now: number
  readonly onClose: () => void
}) {
  return (
    <Dialog title={`${record.kind.slice(0, 100)} ${record.key.slice(0, 200)}`} onClose={onClose} wide>
      <Facts
        facts={[
          ['Page', <Outside key="page" url={record.url} />],
          ['Spider', record.spider],
          ['Site', record.site],
          ['Changed', clockTime(record.changedAt, now)],
        ]}
      />
      <JsonText value={record.data} />
      <div class="actions">
        <Button onClick={onClose}>Close</Button>
      </div>
    </Dialog>
  )
}

/** A search stops after a while, whether it found something or not; `more` continues from there. */
function useRecords(query: Query) {
  const asked = JSON.stringify(query)
  const [state, setState] = useState<{ asked: string; found: Found | null }>({ asked, found: null })
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const [loading, setLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const running = useRef<AbortController | null>(null)
  const load = useCallback(
    async (before: Found | null) => {
      running.current?.abort()
      const stop = new AbortController()
      running.current = stop
      setLoading(true)
      const query = JSON.parse(asked) as Query
      try {
        const url = path('records')
        const page = await get<RecordsPage>(
          url,
          before?.next == null ? query : { ...query, after: before.next },
          stop.signal,
        )
        const items = [...(before?.items ?? []), ...page.items]
        setState({ asked, found: { ...page, items, searched: page.searched + (before?.searched ?? 0) } })
        setFailure(null)
      } catch (error) {
        if (isAborted(error)) return
        setFailure(failureFrom(error))
      }
      setLoading(false)
    },
    [asked],
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` triggers a reload
  useEffect(() => {
    void load(null)
    return () => running.current?.abort()
  }, [load, turn])
  const found = state.asked === asked ? state.found : null
  return {
    found,
    failure,
    loading,
    more: found === null || found.next === null || loading ? null : () => void load(found),
    reload: () => setTurn((before) => before + 1),
  }
}
