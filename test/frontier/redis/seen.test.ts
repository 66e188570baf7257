import { frontierSeenContract } from '../../contract/frontier-seen-contract.js'
import { startRedis } from '../../support/redis-server.js'
import { onServers } from './on-redis.js'

const onRedis = onServers(async () => {
  const server = await startRedis()
  return { url: server.url, ports: [server.port], stop: () => server.stop() }
})

frontierSeenContract('redis', onRedis(1))
frontierSeenContract('redis in three parts', onRedis(3))
