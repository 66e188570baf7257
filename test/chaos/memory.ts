import { readFileSync } from 'node:fs'

const LOOK_MS = 250

export interface MemoryWatch {
  /** The most that any of the processes has had in memory so far, in megabytes. */
  peak(): number
  stop(): void
}

/** Asks the kernel, which remembers the peak of each process. */
export function watchMemory(pids: () => readonly number[]): MemoryWatch {
  let peak = 0
  const look = () => {
    for (const pid of pids()) peak = Math.max(peak, peakOf(pid))
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    peak() {
      look()
      return Math.round(peak)
    },
    stop: () => clearInterval(timer),
  }
}

function peakOf(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return Number(kilobytes ?? 0) / 1024
  } catch {
    return 0
  }
}
