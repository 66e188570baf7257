import { frontierContract } from '../../contract/frontier-contract.js'
import { startCluster } from '../../support/redis-cluster.js'
import { frontierInvariants } from '../invariants.js'
import { frontierProperties } from '../properties.js'
import { onServers } from './on-redis.js'

const onCluster = onServers(async () => {
  const cluster = await startCluster(3)
  return { url: cluster.url, ports: cluster.masters.map(({ port }) => port), stop: () => cluster.stop() }
})

frontierContract('redis cluster, one shard', onCluster(1))
frontierProperties('redis cluster, one shard', onCluster(1), { runs: 5 })
frontierContract('redis cluster, six shards', onCluster(6))
frontierInvariants('redis cluster, six shards', onCluster(6), { runs: 8 })
