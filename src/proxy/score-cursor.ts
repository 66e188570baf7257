import type { ProxyScore } from './proxy-ledger.js'

/** The place of a score in the order of `scores`: what `after` wants to begin behind it. */
export function scoreCursor({ proxy, site }: Pick<ProxyScore, 'proxy' | 'site'>): string {
  return `${proxy}\n${site}`
}
