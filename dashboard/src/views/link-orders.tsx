import type { Counted, Done, LinkOrder } from '../../../src/api/api-types.js'
import { path, post } from '../api.js'
import { Button } from '../parts/button.js'
import { confirm } from '../parts/confirm.js'
import { Foreign } from '../parts/text.js'

/** What can be done to one link by hand. */
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
  readonly told: string
  readonly danger?: boolean
}

export const LINK_ACTIONS: Readonly<Record<LinkAction, Wording>> = {
  promote: {
    name: 'Promote',
    title: 'Promote this link?',
    says: 'It becomes the next of its host, due now. The pace of the host stays as it is.',
    action: 'Promote it',
    told: 'It is the next of its host',
  },
  retry: {
    name: 'Retry',
    title: 'Retry this link?',
    says: 'It is due now instead of later, in its place in the queue.',
    action: 'Retry it',
    told: 'It is due now',
  },
  replay: {
    name: 'Replay',
    title: 'Replay this dead letter?',
    says: 'It goes back to the queue with no attempts used. A finished crawl runs again.',
    action: 'Replay it',
    told: 'It is back in the queue',
  },
  remove: {
    name: 'Remove',
    title: 'Remove this link?',
    says: 'It is given up for good and counts as skipped. Records it has given stay.',
    action: 'Remove it',
    told: 'It was given up',
    danger: true,
  },
}

export function askLink(action: LinkAction, link: OneLink, onChanged: () => void): void {
  const { title, says, action: name, told, danger = false } = LINK_ACTIONS[action]
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
        return count === 0 ? 'It was no dead letter any more' : told
      }
      const order: LinkOrder = { host: link.host }
      await post<Done>(path('crawls', link.crawl, 'links', link.fp, action), order)
      onChanged()
      return told
    },
  })
}

/** Its buttons at the end of a row. */
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
