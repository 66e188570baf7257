import { z } from 'zod'
import { options, size } from '../../../options.js'
import type { Capacity } from '../../capacity.js'
import { percent } from '../../in-words.js'
import { FORGETFUL, type Rule } from './rule.js'

const settings = options({
  share: z.number().gt(0).max(1).default(0.85),
  diskFree: size.default(1024 ** 3),
})
type Settings = z.output<typeof settings>

/** Less has to be used again before it is over. */
const EASE = 0.05
/** From here on it is a matter of minutes. */
const CRITICAL = 0.95
/** A small disk is not nearly full with a gigabyte left. */
const DISK_SHARE = 0.05

export const queueMemory: Rule<Settings, null> = {
  ...FORGETFUL,
  rule: 'queue_memory',
  meaning:
    'The memory of Redis is used to `share` of its limit, or the disk of the queue has less than `diskFree` left (a small disk: 5 % of it).',
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
              ? `Redis uses ${percent(used)} of its memory, ${megabytes(left)} are left`
              : `the disk of the queue has ${megabytes(left)} left`,
          next:
            what === 'memory'
              ? 'Raise maxmemory, delete old crawls with `shoal crawls delete`, or bound the queue with maxPending.'
              : 'Make room, or delete old crawls with `shoal crawls delete`.',
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
