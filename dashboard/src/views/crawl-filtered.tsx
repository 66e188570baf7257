import type { CrawlView } from '../../../src/api/api-types.js'
import { count } from '../format.js'
import { ShareBar, type ShareBarProps } from '../parts/bar.js'
import { Foreign } from '../parts/text.js'

type Filtered = CrawlView['filtered'][number]

const TONES: Readonly<Record<Filtered['effect'], NonNullable<ShareBarProps['tone']>>> = {
  changed: 'calm',
  kept: 'warn',
  rejected: 'warn',
}

/** What the spider's scope did to the links of the pages, with an example of each. */
export function CrawlFiltered({ filtered }: Pick<CrawlView, 'filtered'>) {
  const most = Math.max(...filtered.map((one) => one.count))
  return (
    <section class="panel" aria-labelledby="filtered">
      <h2 id="filtered">Links changed or rejected</h2>
      {filtered.length === 0 ? (
        <p class="muted">Every link was accepted as the page has it.</p>
      ) : (
        <ul class="shares filtered">
          {filtered.map((one) => (
            <Reason key={one.reason} filtered={one} share={one.count / most} />
          ))}
        </ul>
      )}
    </section>
  )
}

function Reason({ filtered, share }: { readonly filtered: Filtered; readonly share: number }) {
  const { effect, words, setting, example } = filtered
  return (
    <>
      <ShareBar name={`${effect}: ${words}`} share={share} text={count(filtered.count)} tone={TONES[effect]} />
      <li class="muted small-text long-text filtered-example">
        {example === null ? null : <Foreign text={example.url} clip={false} />}
        {example === null || example.became === null ? null : (
          <>
            {' '}
            → <Foreign text={example.became} clip={false} />
          </>
        )}
        {setting === null ? null : (
          <>
            {' '}
            <code>{setting}</code>
          </>
        )}
      </li>
    </>
  )
}
