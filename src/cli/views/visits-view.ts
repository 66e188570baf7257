import type { VisitCounts } from '../../store/visits.js'
import { bar, count, percent } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

const BAR_WIDTH = 20
const LABELS: readonly (readonly [keyof VisitCounts, string])[] = [
  ['new', 'new'],
  ['changed', 'changed'],
  ['notModified', 'not modified (304)'],
  ['sameBody', 'same body (200)'],
]

/** How the pages of a recrawl compare with the previous crawl; nothing for a spider that does not recrawl. */
export function visitLines(visits: VisitCounts | null, style: Style): string[] {
  if (visits === null) return []
  const all = LABELS.reduce((sum, [name]) => sum + visits[name], 0)
  return LABELS.map(([name, label]) => {
    const share = bar(visits[name] / Math.max(1, all), BAR_WIDTH)
    return `${count(visits[name]).padStart(11)}  ${label.padEnd(20)} ${style.dim(`${share} ${percent(visits[name], all)}`)}`
  })
}
