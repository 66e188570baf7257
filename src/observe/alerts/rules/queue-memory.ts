import { z } from 'zod'
import { options, size } from '../../../options.js'
import { percent } from '../../in-words.js'
import type { Capacity } from '../../snapshots/snapshot.js'
import { type Rule, STATELESS } from './rule.js'

const settings = options({
  share: z.number().gt(0).max(1).default(0.85),
  diskFree: size.default(1024 ** 3),
})
type Settings = z.output<typeof settings>

/** Usage must fall this far below the threshold before the alert ends. */
const EASE = 0.05
/** Above this it is a matter of minutes. */
const CRITICAL = 0.95
/** A small disk with a gigabyte left is not nearly full. */
const DISK_SHARE = 0.05

export const queueMemory: Rule<Settings, null> = {
  ...STATELESS,
  rule: 'queue_memory',
  meaning:
    'Redis uses at least `share` of its memory limit, or the disk of the queue has less than `diskFree` left (on a small disk: less than 5 %).',
  settings,
  lastingMs: 0,
  judge: ({ capacity }, wanted) => {
    if (capacity === null || capacity.limitBytes <= 0) return { found: null, memory: null }
    const { usedBytes, limitBytes, what } = capacity
    const level = levelOf(capacity, wanted)
    if (level === null) return { found: [], memory: null }
    const used = usedBytes / limitBytes
    const left = limitBytes - usedBytes
    return {
      memory: null,
      found: [
        {
          ...{ about: '', crawl: null, spider: null, level },
          severity: used >= CRITICAL || what === 'disk' ? 'critical' : 'warn',
          message:
            what === 'memory'
              ? `Redis uses ${percent(used)} of its memory, ${megabytes(left)} left`
              : `the disk of the queue has ${megabytes(left)} left`,
          next:
            what === 'memory'
              ? 'Raise maxmemory, delete old crawls with `shoal crawls delete`, or bound the queue with maxPending.'
              : 'Free up space, or delete old crawls with `shoal crawls delete`.',
          fields: { usedBytes, limitBytes, what },
        },
      ],
    }
  },
}

function levelOf({ usedBytes, limitBytes, what }: Capacity, { share, diskFree }: Settings): 'over' | 'near' | null {
  if (what === 'memory') {
    const used = usedBytes / limitBytes
    return used >= share ? 'over' : used >= share - EASE ? 'near' : null
  }
  const least = Math.min(diskFree, limitBytes * DISK_SHARE)
  const free = limitBytes - usedBytes
  return free <= least ? 'over' : free <= least * 1.2 ? 'near' : null
}

function megabytes(bytes: number): string {
  return `${Math.max(0, Math.round(bytes / 1024 ** 2)).toLocaleString('en-US')} MB`
}
