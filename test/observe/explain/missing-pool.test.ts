import { expect, it } from 'vitest'
import type { WorkerInfo } from '../../../src/frontier/frontier.js'
import { defineSpider } from '../../../src/index.js'
import { missingPool } from '../../../src/observe/explain/missing-pool.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'

const spider = spiderFromDefinition(
  defineSpider({
    name: 'shop',
    start: ['https://shop.example/'],
    proxy: 'residential',
    routes: { page: { match: '/*' }, open: { match: '/open/*', proxy: false } },
  }),
)

function worker(pools: readonly string[], seenAt: number): WorkerInfo {
  const about = { machine: 'm', pid: 1, version: '1', pools }
  const liveness = { beatAt: null, lostAt: null }
  return { worker: 'w', inFlight: 0, done: 0, failed: 0, startedAt: 0, seenAt, progressAt: null, ...liveness, about }
}

const ask = (workers: WorkerInfo[], route: string) =>
  missingPool({ workers: async () => workers }, spider, route, 1_000_000)

it('names the pool that no running worker has', async () => {
  const [said] = await ask([worker(['datacenter'], 1_000_000), worker(['residential'], 0)], 'page')
  expect(said).toContain("proxy pool it needs: 'residential'")
})

it('says nothing where a worker has it, or where none is needed', async () => {
  expect(await ask([worker(['residential'], 1_000_000)], 'page')).toEqual([])
  expect(await ask([], 'open')).toEqual([])
})
