import { readFileSync } from 'node:fs'

const LOOK_MS = 250

export interface MemoryWatch {
  /** The most that any of the processes has ever had in memory, its start included, in megabytes. */
  peak(): number
  /** The most that any of them had since this was asked last. */
  most(): number
  stop(): void
}

export function watchMemory(pids: () => readonly number[]): MemoryWatch {
  let peak = 0
  let most = 0
  const look = () => {
    for (const pid of pids()) {
      const status = statusOf(pid)
      // The kernel remembers the peak of each process.
      peak = Math.max(peak, megabytes(status, 'VmHWM'))
      most = Math.max(most, megabytes(status, 'VmRSS'))
    }
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    peak() {
      look()
      return Math.round(peak)
    },
    most() {
      look()
      const found = Math.round(most)
      most = 0
      return found
    },
    stop: () => clearInterval(timer),
  }
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

function megabytes(status: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) / 1024
}
