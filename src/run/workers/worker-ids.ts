import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Random, systemRandom } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'

const PART = 4

/**
 * `host-pid-run-n`, where n counts the workers this process has started. `run` is four letters for the scope of the pid (this boot of this machine,
 * this container) and four random ones, because every container has a pid 1, and pids are reused.
 */
export function workerIds(random: Random = systemRandom): () => WorkerId {
  const run = `${scope()}${letters(Math.floor(random() * 36 ** PART))}`
  let started = 0
  return () => `${hostname()}-${process.pid}-${run}-${++started}`
}

/** The process of a worker on this machine, or in this container; null elsewhere, where nothing is known about it. */
export function localPid(worker: WorkerId): number | null {
  const [, host, pid, there] = /^(.+)-(\d+)-([0-9a-z]{4})[0-9a-z]{4}-\d+$/.exec(worker) ?? []
  return host === hostname() && there === scope() ? Number(pid) : null
}

/** True for a process of this machine or container that has ended. If another process has its pid by now, this is not noticed. */
export function isGone(worker: WorkerId): boolean {
  const pid = localPid(worker)
  if (pid === null) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

let scopeHere: string | null = null

function scope(): string {
  scopeHere ??= readScope()
  return scopeHere
}

function readScope(): string {
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

/** Only Linux has these files. */
function orEmpty(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}
