import type { HostInfo } from '../frontier/frontier.js'

/** JSON has no infinity. */
const NO_LIMIT = 1e9

export function hostShown(host: HostInfo): HostInfo {
  return { ...host, concurrency: Math.min(host.concurrency, NO_LIMIT) }
}
