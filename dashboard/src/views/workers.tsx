import type { Done, WorkersView, WorkerView } from '../../../src/api/api-types.js'
import { path, post } from '../api.js'
import { ago, bytes, clockTime, count, duration, percent, plural, rate } from '../format.js'
import { useLoad } from '../load.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Empty, Loading } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { Icon } from '../parts/icon.js'
import { StateBadge } from '../parts/state-badge.js'
import { type Column, Table } from '../parts/table.js'
import { Foreign } from '../parts/text.js'
import { SLOT_LIMITS } from '../words.js'
import { useQueueTime } from './queue-time.js'
import type { ViewProps } from './view.js'

const EVERY_MS = 2_000

/** The workers of the fleet, and above all those that are missing. */
export function Workers(_: ViewProps) {
  const { value, failure, reload } = useLoad<WorkersView>(path('workers'), {}, EVERY_MS)
  const now = useQueueTime()
  const workers = value?.workers ?? []
  return (
    <>
      <h1>Workers</h1>
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      <Missing workers={workers} now={now} />
      {value === null ? (
        failure === null ? (
          <Loading />
        ) : null
      ) : workers.length === 0 ? (
        <Empty title="No workers yet">
          Start one: <code>shoal worker &lt;spider&gt;</code>, on this machine or any other that can reach the queue.
        </Empty>
      ) : (
        <>
          <p class="counted">{summaryOf(workers)}</p>
          <Table
            label="Workers"
            columns={columns(now, reload)}
            rows={workers}
            rowKey={({ worker }) => worker}
            rowClass={({ state }) => (isGone(state) ? 'gone' : '')}
          />
        </>
      )}
    </>
  )
}

function isGone(state: WorkerView['state']): boolean {
  return state === 'missing'
}

/** A worker that has been missing for longer and holds nothing is only listed. */
const GONE_MS = 60_000

/** A fixed time, not a growing age: a screen reader repeats an alert whenever its text changes. */
function Missing({ workers, now }: { readonly workers: readonly WorkerView[]; readonly now: number }) {
  const missing = workers.filter(
    ({ state, inFlight, seenAt }) => state === 'missing' && (inFlight > 0 || now - seenAt < GONE_MS),
  )
  if (missing.length === 0) return null
  return (
    <div class="loud" role="alert">
      <Icon shape="warn" size={22} />
      <div>
        <p class="loud-title">{plural(missing.length, 'worker is missing', 'workers are missing')}</p>
        <ul>
          {missing.map(({ worker, about, seenAt, inFlight, lostAt }) => (
            <li key={worker}>
              <Foreign text={worker} clip={false} />: last seen {clockTime(seenAt, now)}
              {about === null ? '' : `, process ${about.pid} on `}
              {about === null ? null : <Foreign text={about.machine} clip={false} />}
              {inFlight === 0
                ? ''
                : `; its ${plural(inFlight, 'link')} ${inFlight === 1 ? 'returns' : 'return'} to the queue ${lostAt === null ? 'when the leases expire' : `at ${clockTime(lostAt, now)}`}`}
            </li>
          ))}
        </ul>
        <p>Nothing is lost: other workers take over. Check its machine and its log.</p>
      </div>
    </div>
  )
}

function summaryOf(workers: readonly WorkerView[]): string {
  const alive = workers.filter(({ state }) => !isGone(state))
  const slots = alive.reduce((sum, { slots }) => sum + (slots ?? 0), 0)
  const busy = alive.reduce((sum, { busy, inFlight }) => sum + (busy ?? inFlight), 0)
  const together = alive.reduce((sum, { rate }) => sum + rate, 0)
  return `${plural(alive.length, 'worker')} running · ${count(busy)} of ${count(slots)} slots busy · ${rate(together)} pages per second`
}

function columns(now: number, onChanged: () => void): readonly Column<WorkerView>[] {
  return [
    { key: 'worker', head: 'Worker', width: 'minmax(0, 2fr)', cell: (worker) => <Name worker={worker} /> },
    { key: 'state', head: 'State', width: '7rem', cell: ({ state }) => <StateBadge state={state} /> },
    { key: 'rate', head: 'Pages/s', width: '5rem', align: 'end', cell: ({ rate: pages }) => rate(pages) },
    { key: 'hand', head: 'In flight', width: '5rem', align: 'end', cell: ({ inFlight }) => count(inFlight) },
    { key: 'slots', head: 'Slots busy', width: '6rem', align: 'end', cell: slotsText },
    { key: 'most', head: 'At most', width: '8rem', align: 'end', cell: ceilingText, from: 'medium' },
    {
      key: 'memory',
      head: 'Memory',
      width: '5.5rem',
      align: 'end',
      cell: ({ rssBytes }) => (rssBytes === null ? '–' : bytes(rssBytes)),
    },
    { key: 'loop', head: 'CPU · loop lag', width: '8rem', align: 'end', cell: loopText },
    {
      key: 'version',
      head: 'Version',
      width: '5rem',
      align: 'end',
      cell: ({ about }) => <Foreign text={about?.version ?? '–'} />,
      from: 'medium',
    },
    {
      key: 'progress',
      head: 'Last page',
      width: '7.5rem',
      align: 'end',
      cell: ({ progressAt }) => (progressAt === null ? 'none yet' : ago(progressAt, now)),
    },
    {
      key: 'drain',
      head: '',
      width: '4.6rem',
      whole: true,
      cell: (worker) =>
        isGone(worker.state) || worker.draining ? null : (
          <Button small kind="quiet" label={`Drain ${worker.worker}`} onClick={() => askDrain(worker, onChanged)}>
            Drain
          </Button>
        ),
    },
  ]
}

function Name({ worker: { worker, about } }: { readonly worker: WorkerView }) {
  return (
    <span class="two-lines">
      <Foreign text={about === null ? worker : `${about.machine} · process ${about.pid}`} />
      {about === null ? null : (
        <small class="muted">
          <Foreign text={worker} />
        </small>
      )}
    </span>
  )
}

function slotsText({ busy, slots, inFlight }: WorkerView): string {
  return slots === null ? '–' : `${count(busy ?? inFlight)} of ${count(slots)}`
}

/** `64 (CPU)`: its ceiling, and why it does not use all of it. */
function ceilingText({ slotsMost, slotsBecause }: WorkerView): string {
  if (slotsMost === null) return '–'
  const why = slotsBecause === null ? '' : SLOT_LIMITS[slotsBecause]
  return why === '' ? count(slotsMost) : `${count(slotsMost)} (${why})`
}

function loopText({ loopBusy, loopLagMs }: WorkerView): string {
  if (loopBusy === null || loopLagMs === null) return '–'
  return `${percent(loopBusy)} · ${duration(loopLagMs)}`
}

function askDrain({ worker, inFlight }: WorkerView, onChanged: () => void): void {
  confirm({
    title: 'Drain this worker?',
    says: (
      <>
        <p class="long-text">
          <Foreign text={worker} clip={false} />
        </p>
        <p>
          It takes no new links, finishes what is in flight ({plural(inFlight, 'link')} now) and its process ends. It is
          not replaced, unless a supervisor starts another process.
        </p>
      </>
    ),
    action: 'Drain the worker',
    danger: true,
    async run() {
      await post<Done>(path('workers', worker, 'drain'))
      onChanged()
      return 'The worker is draining'
    },
  })
}
