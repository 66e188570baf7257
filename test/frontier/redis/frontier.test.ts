import { frontierContract } from '../../contract/frontier-contract.js'
import { startRedis } from '../../support/redis-server.js'
import { frontierProperties } from '../properties.js'
import { onServers } from './on-redis.js'

const onRedis = onServers(async () => {
  const server = await startRedis()
  return { url: server.url, ports: [server.port], stop: () => server.stop() }
})

frontierContract('redis', onRedis(1))
frontierProperties('redis', onRedis(1), { runs: 20 })
