import type { Advice } from '../../observe/snapshots/advice.js'
import { clean } from '../terminal/clean.js'
import type { Style } from '../terminal/style.js'

/** What is slowest now, and what to do about it; nothing when nothing is. */
export function adviceLines({ stage, sentence, next }: Advice, style: Style): string[] {
  if (stage === 'none') return []
  return [`${style.yellow('slowest now:')} ${clean(sentence)}`, ...(next === '' ? [] : [style.dim(`→ ${clean(next)}`)])]
}
