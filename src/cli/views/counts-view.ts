import type { NamedCount } from '../../frontier/counts.js'
import { clean } from '../terminal/clean.js'
import { count, plural } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

/** What the spider counted with `page.count`; nothing if it counted nothing. */
export function countLines(
  counts: readonly NamedCount[],
  style: Style,
  mostNames = Number.POSITIVE_INFINITY,
): string[] {
  if (counts.length === 0) return []
  const more = counts.length - mostNames
  return [
    `             ${style.dim('counted by the spider:')}`,
    ...counts.slice(0, mostNames).map((one) => `  ${count(one.count).padStart(9)}  ${clean(one.name)}`),
    ...(more > 0 ? [style.dim(`             and ${plural(more, 'more name')}: shoal status`)] : []),
  ]
}
