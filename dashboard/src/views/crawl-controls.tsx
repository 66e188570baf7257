import type { CrawlStats } from '../../../src/frontier/frontier.js'
import { path, post } from '../api.js'
import { plural } from '../format.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Icon } from '../parts/icon.js'

/** Pause, resume, cancel: each explains what it does before you confirm. */
export function CrawlControls({ crawl }: { readonly crawl: CrawlStats }) {
  const { id, state } = crawl
  if (state === 'cancelled' || state === 'finished') return null
  const order = async (what: string, done: string) => {
    await post(path('crawls', id, what))
    return done
  }
  return (
    <div class="actions">
      {state === 'running' ? (
        <Button
          onClick={() =>
            confirm({
              title: `Pause ${id}?`,
              says: (
                <p>
                  No new links are handed out. {plural(crawl.leased, 'link')} in flight will be finished. Nothing is
                  lost: resume continues where it stopped.
                </p>
              ),
              action: 'Pause the crawl',
              run: () => order('pause', `${id} is paused`),
            })
          }
        >
          <Icon shape="pause" /> Pause
        </Button>
      ) : (
        <Button
          kind="primary"
          onClick={() =>
            confirm({
              title: `Resume ${id}?`,
              says: <p>{plural(crawl.queued + crawl.delayed, 'link')} will be visited, at the pace of their hosts.</p>,
              action: 'Resume the crawl',
              run: () => order('resume', `${id} is running again`),
            })
          }
        >
          <Icon shape="play" /> Resume
        </Button>
      )}
      <Button
        kind="quiet"
        onClick={() =>
          confirm({
            title: `Cancel ${id} for good?`,
            says: (
              <>
                <p>
                  {plural(crawl.queued + crawl.delayed, 'link')} still waiting will <b>never be visited</b> by this
                  crawl. Links in flight are finished, and all records so far are kept.
                </p>
                <p>A cancelled crawl cannot be resumed. To stop it for a while, pause it instead.</p>
              </>
            ),
            action: 'Cancel the crawl',
            danger: true,
            run: () => order('cancel', `${id} is cancelled`),
          })
        }
      >
        <Icon shape="stop" /> Cancel
      </Button>
    </div>
  )
}
