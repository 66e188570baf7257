import type { KindView } from '../../../src/api/api-types.js'
import { count, shortCount } from '../format.js'
import { ShareBar } from '../parts/bar.js'
import { Empty } from '../parts/empty.js'

/** Fields filled less often than this are highlighted. */
const OFTEN = 0.95
const SELDOM = 0.6

export function CrawlKinds({ kinds }: { readonly kinds: readonly KindView[] }) {
  return (
    <section class="panel" aria-labelledby="kinds">
      <div class="panel-head">
        <h2 id="kinds">Records</h2>
        <a href="#/records">View records</a>
      </div>
      {kinds.length === 0 ? (
        <Empty title="No records yet">They appear with the first page that yields some.</Empty>
      ) : (
        <div class="kinds">
          {kinds.map((kind) => (
            <Kind key={kind.kind} kind={kind} />
          ))}
        </div>
      )}
    </section>
  )
}

function Kind({ kind }: { readonly kind: KindView }) {
  return (
    <section class="kind">
      <h3>
        <bdi>{kind.kind}</bdi>
      </h3>
      <p class="muted small-text">
        <b class="kind-count">{shortCount(kind.written)}</b> written, {shortCount(kind.unchanged)} unchanged,{' '}
        <span class={kind.rejected > 0 ? 'bad-text' : undefined}>{count(kind.rejected)} rejected</span>
      </p>
      {kind.fields.length === 0 ? null : (
        <ul class="shares" aria-label="Fields by how often they are filled, worst first">
          {kind.fields.map(({ field, filled }) => (
            <ShareBar
              key={field}
              name={field}
              share={filled}
              tone={filled >= OFTEN ? 'ok' : filled >= SELDOM ? 'warn' : 'bad'}
            />
          ))}
        </ul>
      )}
    </section>
  )
}
