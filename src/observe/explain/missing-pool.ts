import type { Frontier } from '../../frontier/frontier.js'
import { DIRECT, type Spider } from '../../spider/spider.js'
import { workerState } from '../snapshots/health.js'

/** Why a link waits although its host is open: its route goes out through proxies that no worker at work has. */
export async function missingPool(
  frontier: Pick<Frontier, 'workers'>,
  spider: Spider | null,
  route: string,
  now: number,
): Promise<string[]> {
  const need = spider?.routes.get(route)?.proxy ?? null
  if (need === null || need === DIRECT) return []
  const workers = (await frontier.workers()).filter((worker) => workerState(worker, now) !== 'silent')
  if (workers.some(({ about }) => about?.pools?.includes(need.pool))) return []
  return [`no worker at work has the proxies that it needs: pool '${need.pool}' (shoal worker --proxies <file>)`]
}
