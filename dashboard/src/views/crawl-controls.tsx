import type { CrawlStats } from '../../../src/frontier/frontier.js'
import { path, post } from '../api.js'
import { plural } from '../format.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Icon } from '../parts/icon.js'

/** Pause, go on, cancel: each says what it does first. */
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
                  No further link is handed out. {plural(crawl.leased, 'link')} in hand now will still be finished.
                  Nothing is lost; resume goes on where it stopped.
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
              says: (
                <p>{plural(crawl.queued + crawl.delayed, 'link')} will be visited again, at the pace of their hosts.</p>
              ),
              action: 'Resume the crawl',
              run: () => order('resume', `${id} runs again`),
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
                  crawl. What is in hand ends as usual, and all records so far are kept.
                </p>
                <p>A cancelled crawl cannot be resumed. To stop for a while, pause it.</p>
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
