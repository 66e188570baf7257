import { isOnServer, maskUrl, type ProcessSettings } from '../config.js'
import { DIRECT, type Spider } from '../spider/spider.js'

/** Settings that are allowed, but rarely what was meant. Logged at every start, because whoever reads the log may not be who chose them. */
export function setupWarnings(
  settings: Pick<ProcessSettings, 'queue' | 'store'> & Partial<Pick<ProcessSettings, 'proxies'>>,
  spiders: readonly Pick<Spider, 'proxies'>[],
): string[] {
  return [...recordsStayHere(settings), ...proxiesAreUnused(settings.proxies ?? null, spiders)]
}

/** A queue on a server, and records in a file of each machine. */
export function recordsStayHere({ queue, store }: Pick<ProcessSettings, 'queue' | 'store'>): string[] {
  if (!isOnServer(queue) || !store.startsWith('sqlite:')) return []
  return [
    `the queue ${maskUrl(queue)} is shared, but records go to ${store} on this machine only: ` +
      'set SHOAL_STORE=postgres://user:password@host/database on all machines to collect them in one place',
  ]
}

function proxiesAreUnused(proxies: string | null, spiders: readonly Pick<Spider, 'proxies'>[]): string[] {
  const usesProxies = spiders.some((spider) => spider.proxies?.needs.some((need) => need !== DIRECT))
  if (proxies === null || usesProxies) return []
  return [
    'proxies are set (--proxies, SHOAL_PROXIES or PROXY_LIST), but no spider uses them, so requests are sent directly: ' +
      "add proxy: 'default' or the name of another pool to the spider",
  ]
}
