import type { CrawlCard } from '../../../src/api/api-types.js'
import { crawlHref } from '../router.js'
import { endWords } from '../words.js'

/** When it ends, and what limits it. */
export function EndText({ card, now }: { readonly card: CrawlCard; readonly now: number }) {
  const { when, host, why } = endWords(card.stats, card.estimate, now)
  return (
    <div class="end-text">
      <b>{when}</b>
      <span class="muted">
        {host === null ? null : (
          <a href={crawlHref(card.stats.id, 'hosts', { begins: host, order: 'name' })}>
            <bdi>{host}</bdi>
          </a>
        )}{' '}
        {why}
      </span>
    </div>
  )
}
