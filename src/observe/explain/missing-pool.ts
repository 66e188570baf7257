import type { Frontier } from '../../frontier/frontier.js'
import { DIRECT, type Spider } from '../../spider/spider.js'
import { workerState } from '../snapshots/health.js'

/** Why a link waits although its host is open: its route needs a proxy pool that no running worker has. */
export async function missingPool(
  frontier: Pick<Frontier, 'workers'>,
  spider: Spider | null,
  route: string,
  now: number,
): Promise<string[]> {
  const need = spider?.routes.get(route)?.proxy ?? null
  if (need === null || need === DIRECT) return []
  const workers = (await frontier.workers()).filter((worker) => workerState(worker, now) !== 'missing')
  if (workers.some(({ about }) => about?.pools?.includes(need.pool))) return []
  return [`no running worker has the proxy pool it needs: '${need.pool}' (shoal worker --proxies <file>)`]
}
