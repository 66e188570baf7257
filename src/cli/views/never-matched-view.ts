import { type NeverMatched, neverText } from '../../quality/never-matched.js'
import { clean } from '../terminal/clean.js'
import { count } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'

/** So many rules and fields that found nothing are named; `--json` has all of them. */
const SHOWN = 5

export function neverMatchedLines(never: readonly Omit<NeverMatched, 'crawl'>[], style: Style): string[] {
  const lines = never.slice(0, SHOWN).map((row) => `             ${style.red('never')} ${clean(neverText(row, count))}`)
  const more = never.length - lines.length
  return more > 0 ? [...lines, style.dim(`             and ${count(more)} more`)] : lines
}
