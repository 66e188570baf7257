import type { ExitLedger } from '../proxy/proxy-ledger.js'
import { fileOf, type Session } from './session.js'

/** What the fleet knows of its proxies, without the records: these may be on a server that this machine does not see. */
export async function withLedger<Result>(
  session: Session,
  { create }: { readonly create: boolean },
  work: (ledger: ExitLedger) => Promise<Result>,
): Promise<Result> {
  const { queue } = session.settings
  const { openPlant } = await import('../wire/backends.js')
  const isFile = fileOf(queue) !== null
  if (isFile && !create) return session.withPlant(({ exits }) => work(exits))
  const plant = await openPlant({ queue, store: isFile ? queue : 'memory:' })
  try {
    return await work(plant.exits)
  } finally {
    await plant.close()
  }
}
