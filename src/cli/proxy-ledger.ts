import type { Backends } from '../wire/backends.js'
import { fileOf, type Session, whileOpen } from './session.js'

/** Opens the proxy ledger and the queue's clock without the record store, which may be on a server that this machine cannot reach. */
export async function withLedger<Result>(
  session: Session,
  { create }: { readonly create: boolean },
  work: (backends: Pick<Backends, 'proxies' | 'queueClock'>) => Promise<Result>,
): Promise<Result> {
  const { queue } = session.settings
  const { openBackends } = await import('../wire/backends.js')
  const isFile = fileOf(queue) !== null
  if (isFile && !create) return session.withBackends(work)
  return whileOpen(await openBackends({ queue, store: isFile ? queue : 'memory:' }), work)
}
