import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock, systemRandom } from '../clock.js'
import { openRedisFrontier } from '../frontier/redis/redis-frontier.js'
import { openRedis } from '../redis/connection.js'
import { type KeepingQueue, keepAlive, reapAlways, type Ward } from './lease-keeper.js'
import type { FromKeeper, KeeperThreadData, ToKeeper } from './protocol.js'

/** Renews leases and reaps expired ones with a connection of its own: an event loop that runs the user's handlers has no say in it. */
const OPEN_NAP_MS = 500

const { address } = workerData as KeeperThreadData
const clock = systemClock
const parts = { queue: openPatiently(), clock, random: systemRandom }

/** What is wrong with the queue for good, the workers tell. */
async function openPatiently(): Promise<KeepingQueue> {
  for (;;) {
    try {
      return await openRedisFrontier(await openRedis(address), {})
    } catch {
      await clock.sleep(OPEN_NAP_MS)
    }
  }
}

function serve(port: MessagePort): void {
  const left = new AbortController()
  let ward: Ward | null = null
  port.on('message', (message: ToKeeper) => {
    if (message.kind === 'leave') left.abort()
    else if (message.kind === 'holding') {
      if (ward === null) return
      ward.believed = message.leases
      ward.heard++
    } else {
      const { worker, heartbeatMs, holdMs } = message
      const onLost = (tokens: readonly string[]) => port.postMessage({ kind: 'lost', tokens } satisfies FromKeeper)
      ward = { worker, heartbeatMs, holdMs, believed: [], heard: 0, onLost }
      void keepAlive(ward, parts, left.signal)
      void parts.queue.then(() => port.postMessage({ kind: 'ready' } satisfies FromKeeper))
    }
  })
  // The worker's thread is gone: nobody works on what it holds.
  port.on('close', () => left.abort())
}

parentPort?.on('message', (port: MessagePort) => serve(port))
void reapAlways(parts, new AbortController().signal)
