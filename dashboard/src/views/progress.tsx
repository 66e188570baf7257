import type { CrawlStats } from '../../../src/frontier/frontier.js'
import { percent } from '../format.js'
import { type BarPart, Legend, StackedBar } from '../parts/bar.js'

/** A crawl's links by state, ended ones first, so that the bar fills from the left. */
function partsOf(stats: CrawlStats): readonly BarPart[] {
  return [
    { name: 'done', value: stats.done, tone: 'done' },
    { name: 'skipped', value: stats.skipped, tone: 'skipped' },
    { name: 'dead', value: stats.dead, tone: 'dead' },
    { name: 'in flight', value: stats.leased, tone: 'leased' },
    { name: 'delayed', value: stats.delayed, tone: 'delayed' },
    { name: 'queued', value: stats.queued, tone: 'queued' },
  ]
}

export function endedShare({ done, dead, skipped, total }: CrawlStats): string {
  return total === 0 ? '0 %' : percent((done + dead + skipped) / total)
}

export function Progress({ stats, legend = true }: { readonly stats: CrawlStats; readonly legend?: boolean }) {
  const parts = partsOf(stats)
  return (
    <div class="progress">
      <StackedBar parts={parts} label={`Links of ${stats.id}, ${endedShare(stats)} ended`} />
      {legend ? <Legend parts={parts} /> : null}
    </div>
  )
}
