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
          <Empty title="No spider is at hand">
            The dashboard starts spiders whose files it was given: <code>shoal dashboard spider.ts</code>
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
    if (resumed) return `${crawl} goes on`
    return setAside === null ? `${crawl} has begun` : `${crawl} has begun, ${setAside} is cancelled`
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
        <legend>Where to begin</legend>
        <label>
          <input type="radio" name={`${id}-fresh`} checked={!fresh} onChange={() => setFresh(false)} />
          <span>
            <b>Go on where it stopped</b>
            <span class="muted">
              {open === undefined
                ? 'No crawl of this spider is open: a new one begins.'
                : `${open.stats.id} has ${plural(open.stats.queued + open.stats.delayed, 'link')} waiting.`}
            </span>
          </span>
        </label>
        <label>
          <input type="radio" name={`${id}-fresh`} checked={fresh} onChange={() => setFresh(true)} />
          <span>
            <b>A fresh crawl</b>
            <span class="muted">From the start URLs on, with nothing seen yet. Records are kept and updated.</span>
            {open === undefined ? null : <span class="warn-text">{open.stats.id} is cancelled for good.</span>}
          </span>
        </label>
      </fieldset>
      {failure === null ? null : <Failure failure={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Leave it</Button>
        <Button kind="primary" submit busy={busy}>
          Start {spider}
        </Button>
      </div>
    </form>
  )
}

/** What is left of the open crawl is given up with it, which nobody can take back. */
function askFresh({ stats }: CrawlCard, spider: string, start: () => Promise<string>): void {
  const left = stats.queued + stats.delayed + stats.leased
  confirm({
    title: `Cancel ${stats.id} and start ${spider} anew?`,
    says: (
      <p>
        <bdi>{stats.id}</bdi> is {stats.state} and cannot be resumed after this: {plural(left, 'link')} of it that{' '}
        {left === 1 ? 'is' : 'are'} left will not be visited. Its records stay.
      </p>
    ),
    action: 'Cancel it and start anew',
    danger: true,
    run: start,
  })
}

const WORKER_COMMAND = (
  <>
    Start one: <code>shoal worker &lt;spider file&gt;</code>
  </>
)

/** A crawl that no worker can work on waits, which surprises whoever started it. */
function Holders({ spider }: { readonly spider: string }) {
  const { value } = useLoad<WorkersView>(path('workers'))
  if (value === null) return null
  const alive = value.workers.filter(({ state }) => state !== 'missing' && state !== 'silent')
  const holders = alive.filter(({ about }) => about?.spiders === undefined || Object.hasOwn(about.spiders, spider))
  if (alive.length === 0)
    return <p class="warn-text small-text">No worker is alive: the crawl waits until one is. {WORKER_COMMAND}</p>
  if (holders.length === 0) {
    return (
      <p class="warn-text small-text">
        No worker alive has this spider: the crawl waits until one does. {WORKER_COMMAND}
      </p>
    )
  }
  return (
    <p class="muted small-text">
      {count(holders.length)} of {plural(alive.length, 'worker')} alive {holders.length === 1 ? 'has' : 'have'} it.
    </p>
  )
}
