import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock, systemRandom } from '../clock.js'
import { openRedisFrontier } from '../frontier/redis/redis-frontier.js'
import { openRedis } from '../redis/connection.js'
import { awayPause } from '../while-away.js'
import { type KeepingQueue, keepAlive, reapAlways, type Ward } from './lease-keeper.js'
import type { FromKeeper, KeeperThreadData, ToKeeper } from './protocol.js'

const { address } = workerData as KeeperThreadData
const clock = systemClock
/** Renews leases and reaps expired ones over its own connection, so that handlers that block their event loop do not matter. */
const parts = { queue: openPatiently(), clock, random: systemRandom }

/** A permanent problem with the queue is reported by the workers. */
async function openPatiently(): Promise<KeepingQueue> {
  for (let pauseMs = awayPause(0); ; pauseMs = awayPause(pauseMs)) {
    try {
      return await openRedisFrontier(await openRedis(address), {})
    } catch {
      await clock.sleep(pauseMs)
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
      ward.messages++
    } else {
      const { kind: _, ...keeping } = message
      const onLost = (tokens: readonly string[]) => port.postMessage({ kind: 'lost', tokens } satisfies FromKeeper)
      const onReady = () => port.postMessage({ kind: 'ready' } satisfies FromKeeper)
      ward = { ...keeping, believed: [], messages: 0, onReady, onLost }
      void keepAlive(ward, parts, left.signal)
    }
  })
  // The worker's thread is gone: nobody works on what it holds.
  port.on('close', () => left.abort())
}

parentPort?.on('message', (port: MessagePort) => serve(port))
void reapAlways(parts, new AbortController().signal)
