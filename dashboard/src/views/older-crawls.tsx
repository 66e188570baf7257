import { useState } from 'preact/hooks'
import type { CrawlCard } from '../../../src/api/api-types.js'
import { path } from '../api.js'
import { usePages } from '../load.js'
import { Button } from '../parts/button.js'
import { Failure } from '../parts/failure.js'
import { EndedCrawl } from './overview.js'

/** The overview has at most this many; a shorter list is complete. */
const OVERVIEW_HOLDS = 50

export function OlderCrawls({ shown, now }: { readonly shown: readonly CrawlCard[]; readonly now: number }) {
  const [wanted, setWanted] = useState(false)
  if (shown.length < OVERVIEW_HOLDS) return null
  if (wanted) return <Older shown={shown} now={now} />
  return (
    <p class="older">
      <Button small onClick={() => setWanted(true)}>
        Show older crawls
      </Button>
    </p>
  )
}

function Older({ shown, now }: { readonly shown: readonly CrawlCard[]; readonly now: number }) {
  const { items, more, loading, failure, reload } = usePages<CrawlCard>(path('crawls'), { limit: 100 })
  const known = new Set(shown.map(({ stats }) => stats.id))
  return (
    <>
      <ul class="crawls ended">
        {items
          .filter(({ stats }) => !known.has(stats.id))
          .map((card) => (
            <EndedCrawl key={card.stats.id} card={card} now={now} />
          ))}
      </ul>
      {failure === null ? null : <Failure failure={failure} again={reload} />}
      <p class="older" role="status">
        {loading ? 'Loading…' : more === null ? 'No more crawls.' : null}
        {more === null ? null : (
          <Button small onClick={more}>
            Show more
          </Button>
        )}
      </p>
    </>
  )
}
