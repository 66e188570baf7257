import type { Counted, Done, LinkOrder } from '../../../src/api/api-types.js'
import { path, post } from '../api.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Foreign } from '../parts/text.js'

/** The link that an action is for. */
export interface OneLink {
  readonly crawl: string
  readonly fp: string
  readonly host: string
  readonly url: string
}

export type LinkAction = 'promote' | 'retry' | 'remove' | 'replay'

interface Wording {
  readonly name: string
  readonly title: string
  readonly says: string
  readonly action: string
  readonly done: string
  readonly danger?: boolean
}

export const LINK_ACTIONS: Readonly<Record<LinkAction, Wording>> = {
  promote: {
    name: 'Promote',
    title: 'Promote this link?',
    says: 'It moves to the front of its host and is due now. The pace of the host does not change.',
    action: 'Promote it',
    done: 'It is next for its host',
  },
  retry: {
    name: 'Retry',
    title: 'Retry this link?',
    says: 'It is due now instead of later, at its place in the queue.',
    action: 'Retry it',
    done: 'It is due now',
  },
  replay: {
    name: 'Replay',
    title: 'Replay this dead letter?',
    says: 'It returns to the queue with a fresh set of attempts. A finished crawl runs again.',
    action: 'Replay it',
    done: 'It is back in the queue',
  },
  remove: {
    name: 'Remove',
    title: 'Remove this link?',
    says: 'It is removed for good and counts as skipped. Its records are kept.',
    action: 'Remove it',
    done: 'It was removed',
    danger: true,
  },
}

export function askLink(action: LinkAction, link: OneLink, onChanged: () => void): void {
  const { title, says, action: name, done, danger = false } = LINK_ACTIONS[action]
  confirm({
    title,
    says: (
      <>
        <p class="long-text">
          <Foreign text={link.url} clip={false} />
        </p>
        <p>{says}</p>
      </>
    ),
    action: name,
    danger,
    async run() {
      if (action === 'replay') {
        const { count } = await post<Counted>(path('crawls', link.crawl, 'dead', 'replay'), { fp: link.fp })
        onChanged()
        return count === 0 ? 'It was no longer a dead letter' : done
      }
      const order: LinkOrder = { host: link.host }
      await post<Done>(path('crawls', link.crawl, 'links', link.fp, action), order)
      onChanged()
      return done
    },
  })
}

/** The buttons at the end of a row. */
export function LinkButtons(props: {
  readonly actions: readonly LinkAction[]
  readonly link: OneLink
  readonly onChanged: () => void
}) {
  const { actions, link, onChanged } = props
  return (
    <span class="row-actions">
      {actions.map((action) => (
        <Button
          key={action}
          small
          kind="quiet"
          label={`${LINK_ACTIONS[action].name} ${link.url}`}
          onClick={() => askLink(action, link, onChanged)}
        >
          {LINK_ACTIONS[action].name}
        </Button>
      ))}
    </span>
  )
}
