import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Random, systemRandom } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'

const PART = 4

/**
 * `host-pid-run-n`, where n counts the workers this process has started. `run` is four letters for where process numbers mean the
 * same (this boot of this machine, this container) and four by chance: containers are all number 1, and numbers come back.
 */
export function workerIds(random: Random = systemRandom): () => WorkerId {
  const run = `${place()}${letters(Math.floor(random() * 36 ** PART))}`
  let started = 0
  return () => `${hostname()}-${process.pid}-${run}-${++started}`
}

/** A process of this very place that is gone. Of another place nothing is known. */
export function isGone(worker: WorkerId): boolean {
  const [, host, pid, there] = /^(.+)-(\d+)-([0-9a-z]{4})[0-9a-z]{4}-\d+$/.exec(worker) ?? []
  if (host !== hostname() || there !== place()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

function place(): string {
  const parts = [
    hostname(),
    orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  ]
  return letters(createHash('sha1').update(parts.join('\n')).digest().readUInt32BE() % 36 ** PART)
}

function letters(number: number): string {
  return number.toString(36).padStart(PART, '0')
}

/** Only Linux has them. */
function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
