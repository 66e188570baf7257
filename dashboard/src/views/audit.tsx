import type { AuditEntry } from '../../../src/api/api-types.js'
import { path } from '../api.js'
import { clockTime } from '../format.js'
import { useLive } from '../live.js'
import { usePages } from '../load.js'
import { Empty } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { StateBadge } from '../parts/state-badge.js'
import { type Column, Table } from '../parts/table.js'
import { Foreign } from '../parts/text.js'
import './lists.css'

/** Who did what, from the dashboard and the terminal. */
export function Audit() {
  const pages = usePages<AuditEntry>(path('audit'), { limit: 100 })
  const now = useLive().overview?.now ?? Date.now()
  const columns: readonly Column<AuditEntry>[] = [
    { key: 'action', head: 'Action', width: 'minmax(0, 1fr)', cell: ({ action }) => <b>{action}</b> },
    { key: 'target', head: 'Target', width: 'minmax(0, 1.4fr)', cell: ({ target }) => <Foreign text={target} /> },
    { key: 'by', head: 'By', width: 'minmax(0, 1.2fr)', cell: ({ by }) => <Foreign text={by} /> },
    { key: 'at', head: 'When', width: '9rem', cell: ({ at }) => clockTime(at, now) },
    {
      key: 'result',
      head: 'Result',
      width: '9rem',
      cell: ({ result }) =>
        result === 'ok' ? <StateBadge state="ok" /> : <StateBadge state="critical" text={result} />,
    },
    {
      key: 'details',
      head: 'Details',
      width: 'minmax(0, 1.8fr)',
      from: 'medium',
      whole: true,
      cell: ({ details }) => <span class="mono muted">{<Foreign text={detailsText(details)} />}</span>,
    },
  ]
  return (
    <>
      <header class="view-head">
        <h1>Audit log</h1>
        <p class="muted">Actions of people, from the dashboard and from the terminal.</p>
      </header>
      {pages.failure === null ? null : <Failure failure={pages.failure} again={pages.reload} />}
      {pages.items.length === 0 && !pages.loading && pages.failure === null ? (
        <section class="panel">
          <Empty title="No actions yet" />
        </section>
      ) : (
        <Table
          label="Audit log, newest first"
          columns={columns}
          rows={pages.items}
          rowKey={(entry) => `${entry.at} ${entry.by} ${entry.action} ${entry.target}`}
          more={pages.more}
          loading={pages.loading}
        />
      )}
    </>
  )
}

function detailsText(details: AuditEntry['details']): string {
  const text = JSON.stringify(details)
  return text === '{}' || text === 'null' ? '' : text
}
