import { setTimeout as sleep } from 'node:timers/promises'
import type { HistoryEvent } from '../history.js'
import type { Scenario } from '../run-scenario.js'
import type { World } from '../world.js'
import { redisOf } from './redis-faults.js'
import { moments } from './worker-faults.js'

/** What happens on the way between workers and Redis. */

/** Each of these replies was made: the script has run. */
export async function lostReplies(world: World, count: number): Promise<void> {
  const { proxies } = redisOf(world)
  for (const moment of moments(world.random, count)) {
    await world.until(moment)
    const first = Math.floor(world.random() * proxies.length)
    // A frozen or dead worker asks for nothing: then somebody else's reply is lost.
    for (let step = 0; step < proxies.length; step++) {
      const proxy = proxies[(first + step) % proxies.length]
      if (proxy === undefined) continue
      const lost = await Promise.race([proxy.dropNextReply().then(() => true), sleep(2_000).then(() => false)])
      if (!lost) continue
      world.count('lost reply')
      break
    }
  }
}

const LOST_REPLIES: Scenario = {
  id: 'X16',
  title: 'replies lost after the script ran',
  needsRedis: true,
  proxied: true,
  injects: ['lost reply'],
  inject: (world) => lostReplies(world, 40),
}

/** Tells whose connection it was, so that the checker knows why it lost its leases. */
function cutOff(world: World, slot: number, name: string): void {
  const target = world.fleet.idOf(slot)
  world.injector.record([{ op: 'fault', phase: 'info', id: '', epoch: '', host: '', fault: name, target }])
}

const HALF_OPEN: Scenario = {
  id: 'X17',
  title: 'connections that are half open',
  needsRedis: true,
  proxied: true,
  injects: ['half-open connection'],
  async inject(world) {
    const { proxies } = redisOf(world)
    for (const moment of moments(world.random, 3, 0.1, 0.6)) {
      await world.until(moment)
      const slot = Math.floor(world.random() * proxies.length)
      cutOff(world, slot, 'half-open')
      proxies[slot]?.hold()
      await sleep(12_000)
      // Nothing that was under way ever arrives.
      proxies[slot]?.reset()
      proxies[slot]?.release()
      world.count('half-open connection')
    }
  },
  judge(world, { history }) {
    const times = detectionTimes(history)
    world.figure('noticed after, ms', times.length === 0 ? 'never' : Math.round(Math.max(...times)))
    return times.length === 0 || Math.max(...times) > 10_000
      ? [{ invariant: 'I11', detail: `a half-open connection was noticed after ${Math.max(0, ...times)} ms` }]
      : []
  },
}

/** From a cut to the first call of that worker that gave up waiting. */
function detectionTimes(history: readonly HistoryEvent[]): number[] {
  const cutAt = new Map<string, number>()
  const times: number[] = []
  for (const { op, phase, proc, target, tMono } of history) {
    if (op === 'fault' && target !== undefined) cutAt.set(target, tMono)
    const since = cutAt.get(proc)
    if (since === undefined || phase !== 'info' || (op !== 'lease' && op !== 'settle')) continue
    times.push(tMono - since)
    cutAt.delete(proc)
  }
  return times
}

const PARTITIONED: Scenario = {
  id: 'X18',
  title: 'workers cut off from Redis for three leases, in one direction or both',
  needsRedis: true,
  proxied: true,
  injects: ['partition'],
  async inject(world) {
    const { proxies } = redisOf(world)
    const directions = ['requests', 'replies', undefined] as const
    for (const [index, moment] of moments(world.random, 3, 0.1, 0.6).entries()) {
      await world.until(moment)
      const slot = Math.floor(world.random() * proxies.length)
      cutOff(world, slot, 'partition')
      proxies[slot]?.hold(directions[index])
      await sleep(3 * world.pace.leaseMs)
      cutOff(world, slot, 'partition')
      // What was kept arrives now, long after anybody waits for it.
      proxies[slot]?.release()
      world.count('partition')
    }
  },
}

export const NETWORK_FAULTS: readonly Scenario[] = [LOST_REPLIES, HALF_OPEN, PARTITIONED]
