import Redis from 'ioredis'

/** The minimum that remembers URLs exactly: fingerprints in one plain set, a pipeline of SADDs per batch. */
export async function openPipelinedSadd({ port, connections }) {
  const clients = Array.from({ length: connections }, () => new Redis(port, '127.0.0.1'))
  return {
    lanes: clients.map((client) => ({
      async add(links) {
        const pipeline = client.pipeline()
        for (const { fp } of links) pipeline.sadd('seen', fp)
        await pipeline.exec()
      },
    })),
    pending: () => clients[0].scard('seen'),
    async close() {
      for (const client of clients) client.disconnect()
    },
  }
}
