import type { Advice, Stage } from '../../../src/observe/snapshots/advice.js'
import { plural } from '../format.js'
import { sentence } from '../words.js'

const STAGES: Readonly<Record<Stage, string>> = {
  host_pace: 'Host pace',
  hosts: 'Slow hosts',
  proxies: 'Proxies',
  queue: 'Queue',
  store: 'Record store',
  handler: 'Handler',
  cpu: 'CPU',
  memory: 'Memory',
  workers: 'Workers',
  none: 'None',
}

/** The current bottleneck, and what would help. */
export function CrawlAdvice({ advice }: { readonly advice: Advice | null }) {
  if (advice === null) return null
  return (
    <section class="panel advice" aria-labelledby="advice">
      <h2 id="advice">
        <span class="advice-note">Bottleneck</span> {STAGES[advice.stage]}
      </h2>
      <div>
        <p>
          <bdi>{sentence(advice.sentence)}</bdi>
        </p>
        {advice.next === '' ? null : (
          <p class="muted">
            <bdi>{sentence(advice.next)}</bdi>
          </p>
        )}
      </div>
      {advice.stage === 'none' ? null : (
        <p class="advice-workers">
          <b>{advice.moreWorkers === 0 ? 'Adding workers' : plural(advice.moreWorkers, 'more worker')}</b>
          <span class="advice-note">{advice.moreWorkers === 0 ? 'won’t help' : 'would help'}</span>
        </p>
      )}
    </section>
  )
}
