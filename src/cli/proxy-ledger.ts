import type { ProxyLedger } from '../proxy/proxy-ledger.js'
import { fileOf, type Session } from './session.js'

/** Opens the proxy ledger without the record store, which may be on a server that this machine cannot reach. */
export async function withLedger<Result>(
  session: Session,
  { create }: { readonly create: boolean },
  work: (ledger: ProxyLedger) => Promise<Result>,
): Promise<Result> {
  const { queue } = session.settings
  const { openBackends } = await import('../wire/backends.js')
  const isFile = fileOf(queue) !== null
  if (isFile && !create) return session.withBackends(({ proxies }) => work(proxies))
  const backends = await openBackends({ queue, store: isFile ? queue : 'memory:' })
  try {
    return await work(backends.proxies)
  } finally {
    await backends.close()
  }
}
