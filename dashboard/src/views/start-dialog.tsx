import { useId, useState } from 'preact/hooks'
import type { CrawlCard, Overview, Started, WorkersView } from '../../../src/api/api-types.js'
import { type ApiFailure, path, post } from '../api.js'
import { count, plural } from '../format.js'
import { failureFrom, useLoad } from '../load.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Dialog } from '../parts/dialog.js'
import { Empty } from '../parts/empty.js'
import { Failure } from '../parts/failure.js'
import { toast } from '../parts/toast.js'
import { crawlHref } from '../router.js'

export interface StartDialogProps {
  readonly overview: Overview
  readonly onClose: () => void
}

export function StartDialog({ overview, onClose }: StartDialogProps) {
  return (
    <Dialog title="Start a crawl" onClose={onClose}>
      {overview.spiders.length === 0 ? (
        <>
          <Empty title="No spiders available">
            Pass the files of the spiders that can be started here: <code>shoal dashboard spider.ts</code>
          </Empty>
          <div class="actions">
            <Button onClick={onClose}>Close</Button>
          </div>
        </>
      ) : (
        <StartForm overview={overview} onClose={onClose} />
      )}
    </Dialog>
  )
}

function StartForm({ overview, onClose }: StartDialogProps) {
  const id = useId()
  const [spider, setSpider] = useState(overview.spiders[0] ?? '')
  const [fresh, setFresh] = useState(false)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiFailure | null>(null)
  const open = overview.crawls.find(
    ({ stats }) => stats.spider === spider && (stats.state === 'running' || stats.state === 'paused'),
  )
  const start = async (): Promise<string> => {
    const { crawl, resumed, setAside } = await post<Started>(path('crawls'), { spider, fresh })
    onClose()
    location.hash = crawlHref(crawl)
    if (resumed) return `${crawl} resumed`
    return setAside === null ? `${crawl} started` : `${crawl} started, ${setAside} cancelled`
  }
  const go = async () => {
    if (fresh && open !== undefined) {
      askFresh(open, spider, start)
      return
    }
    setBusy(true)
    setFailure(null)
    try {
      toast(await start())
    } catch (error) {
      setFailure(failureFrom(error))
      setBusy(false)
    }
  }
  return (
    <form
      class="start"
      onSubmit={(event) => {
        event.preventDefault()
        void go()
      }}
    >
      <div class="field">
        <label for={`${id}-spider`}>Spider</label>
        <select id={`${id}-spider`} value={spider} onChange={(event) => setSpider(event.currentTarget.value)}>
          {overview.spiders.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <Holders spider={spider} />
      </div>
      <fieldset class="options">
        <legend>Start from</legend>
        <label>
          <input type="radio" name={`${id}-fresh`} checked={!fresh} onChange={() => setFresh(false)} />
          <span>
            <b>Resume</b>
            <span class="muted">
              {open === undefined
                ? 'No crawl of this spider is open, so a new one is started.'
                : `${open.stats.id} has ${plural(open.stats.queued + open.stats.delayed, 'link')} waiting.`}
            </span>
          </span>
        </label>
        <label>
          <input type="radio" name={`${id}-fresh`} checked={fresh} onChange={() => setFresh(true)} />
          <span>
            <b>Fresh crawl</b>
            <span class="muted">Starts again from the start URLs. Records are kept and updated.</span>
            {open === undefined ? null : <span class="warn-text">{open.stats.id} will be cancelled for good.</span>}
          </span>
        </label>
      </fieldset>
      {failure === null ? null : <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" submit busy={busy}>
          Start {spider}
        </Button>
      </div>
    </form>
  )
}

/** The remaining links of the open crawl are lost with it, which cannot be undone. */
function askFresh({ stats }: CrawlCard, spider: string, start: () => Promise<string>): void {
  const left = stats.queued + stats.delayed + stats.leased
  confirm({
    title: `Cancel ${stats.id} and start a fresh crawl of ${spider}?`,
    says: (
      <p>
        <bdi>{stats.id}</bdi> is {stats.state} and cannot be resumed after this: {plural(left, 'remaining link')} will
        not be visited. Its records are kept.
      </p>
    ),
    action: 'Cancel it and start fresh',
    danger: true,
    run: start,
  })
}

const WORKER_COMMAND = (
  <>
    Start one: <code>shoal worker &lt;spider file&gt;</code>
  </>
)

/** A crawl without a worker waits, which would surprise whoever started it. */
function Holders({ spider }: { readonly spider: string }) {
  const { value } = useLoad<WorkersView>(path('workers'))
  if (value === null) return null
  const alive = value.workers.filter(({ state }) => state !== 'missing')
  const holders = alive.filter(({ about }) => about?.spiders === undefined || Object.hasOwn(about.spiders, spider))
  if (alive.length === 0)
    return <p class="warn-text small-text">No worker is running: the crawl will wait for one. {WORKER_COMMAND}</p>
  if (holders.length === 0) {
    return (
      <p class="warn-text small-text">
        No running worker has this spider: the crawl will wait for one. {WORKER_COMMAND}
      </p>
    )
  }
  return (
    <p class="muted small-text">
      {count(holders.length)} of {plural(alive.length, 'worker')} {holders.length === 1 ? 'has' : 'have'} it.
    </p>
  )
}
