import { freemem, totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../../clock.js'
import { lastingBytes, OURS } from '../../observe/snapshots/fleet-load.js'
import type { Vitals } from '../../observe/vitals/vitals.js'

/** Reading it takes 50 µs. */
const READ_MS = 1_000

/** How full the fuller of heap and machine is, for the slots of a worker. */
export function watchMemory(clock: Clock): { heapLimitBytes: number; memory(): number } {
  let readAt = clock.mono()
  let now = memoryShare()
  let before = now
  return {
    heapLimitBytes: getHeapStatistics().heap_size_limit,
    memory() {
      if (clock.mono() - readAt >= READ_MS) {
        readAt = clock.mono()
        before = now
        now = memoryShare()
      }
      // A heap is full of garbage just before it is collected: only what is there twice counts.
      return Math.min(before, now)
    },
  }
}

function memoryShare(): number {
  const { used_heap_size, heap_size_limit } = getHeapStatistics()
  const heap = used_heap_size / lastingBytes(heap_size_limit)
  const { memoryLimitBytes, memoryFreeBytes } = memoryOfMachine()
  // If others fill the machine, fewer pages here are no help.
  const isOurs = process.memoryUsage.rss() >= memoryLimitBytes * OURS
  return Math.max(heap, isOurs ? 1 - memoryFreeBytes / memoryLimitBytes : 0)
}

/** The limit of the container, if there is one; without a limit the system reports a number that no machine has. */
export function memoryOfMachine(): Pick<Vitals, 'memoryLimitBytes' | 'memoryFreeBytes'> {
  const total = totalmem()
  const limit = process.constrainedMemory()
  return limit > 0 && limit < total
    ? { memoryLimitBytes: limit, memoryFreeBytes: Math.max(0, process.availableMemory()) }
    : { memoryLimitBytes: total, memoryFreeBytes: freemem() }
}
