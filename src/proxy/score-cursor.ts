import type { ExitScore } from './proxy-ledger.js'

/** The place of a score in the order of `scores`: what `after` wants to begin behind it. */
export function scoreCursor({ exit, site }: Pick<ExitScore, 'exit' | 'site'>): string {
  return `${exit}\n${site}`
}
