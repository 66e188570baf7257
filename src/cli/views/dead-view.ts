import type { LinkInfo } from '../../frontier/frontier.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { ago } from '../terminal/format.js'
import { figure, shrinking, table } from '../terminal/table.js'
import { cutEnd } from '../terminal/width.js'

const INDENT = '  '

/** Visits, also those that ended with their worker: a link that killed four workers had been shown with 0 attempts. */
export function attemptsOf({ attempts, reclaims }: Pick<LinkInfo, 'attempts' | 'reclaims'>): number {
  return attempts + reclaims
}

/** Dead letters, each with its message: on a terminal below it and shortened to the width, in a pipe in the same line and whole. */
export function deadTable(
  links: readonly LinkInfo[],
  now: number,
  { width, style }: Pick<Output, 'width' | 'style'>,
): string[] {
  const columns = ['error', shrinking('url'), figure('attempts'), 'when']
  const rows = links.map((link) => [
    link.failures.at(-1)?.code ?? '',
    clean(link.url),
    String(attemptsOf(link)),
    ago(link.endedAt ?? now, now),
  ])
  const messages = links.map(({ failures }) => clean(failures.at(-1)?.message ?? ''))
  if (width === Number.POSITIVE_INFINITY) {
    const whole = rows.map((row, index) => [...row, messages[index] ?? ''])
    return table([...columns, 'message'], whole, width, style.dim)
  }
  const [titles = '', ...lines] = table(columns, rows, width, style.dim)
  const withMessage = (line: string, index: number): string[] => {
    const message = cutEnd(messages[index] ?? '', width - INDENT.length)
    return message === '' ? [line] : [line, style.dim(`${INDENT}${message}`)]
  }
  return [titles, ...lines.flatMap(withMessage)]
}
