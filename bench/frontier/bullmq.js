import { Queue, Worker } from 'bullmq'
import Redis from 'ioredis'

const NAME = 'bench'
/** Of 25, 50, 100 and 200 for each of the four workers, the one with the least CPU and the most jobs per second. */
const CONCURRENCY = 100

/** Identified by jobId, added in bulk; its own Worker fetches the next job with each acknowledgement. No rate limits per host. */
export async function openBullmq({ port, connections }) {
  const connect = () => new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null })
  const clients = []
  const client = () => {
    const made = connect()
    clients.push(made)
    return made
  }
  const queues = Array.from({ length: connections }, () => new Queue(NAME, { connection: client() }))
  await Promise.all(queues.map((queue) => queue.waitUntilReady()))
  const waiting = async () => (await queues[0].getJobCounts('wait')).wait
  return {
    /** removeOnComplete forgets the id with the job: deduplication then needs a separate set. */
    remembers: false,
    lanes: queues.map((queue) => ({
      // An id of digits only is refused.
      add: (links) =>
        queue.addBulk(links.map(({ url, fp }) => ({ name: 'visit', data: { url }, opts: { jobId: `u${fp}` } }))),
    })),
    pending: waiting,
    async drain(total) {
      let done = 0
      const workers = []
      await new Promise((resolve, reject) => {
        const visit = async () => {}
        for (let nth = 0; nth < connections; nth++) {
          const worker = new Worker(NAME, visit, {
            connection: client(),
            concurrency: CONCURRENCY,
            removeOnComplete: { count: 0 },
            skipLockRenewal: true,
            skipStalledCheck: true,
          })
          worker.on('completed', () => {
            done++
            if (done === total) resolve()
          })
          worker.on('error', reject)
          workers.push(worker)
        }
      })
      await Promise.all(workers.map((worker) => worker.close(true)))
      return done
    },
    async close() {
      await Promise.all(queues.map((queue) => queue.close()))
      for (const one of clients) one.disconnect()
    },
  }
}
