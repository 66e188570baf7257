import { openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What each process did, as it saw it: one JSON line per link and phase of a call. A call whose reply was lost is `info`, never `fail`:
 * it may have happened. Times are of the clock that all processes of one machine share.
 */
export interface HistoryEvent {
  readonly tMono: number
  readonly tWall: number
  /** The worker, or the injector for what was done to it. */
  readonly proc: string
  readonly op: 'lease' | 'settle' | 'write' | 'lost' | 'stall' | 'exit' | 'fault' | 'heal'
  readonly phase: 'invoke' | 'ok' | 'fail' | 'info'
  /** URL of the link, where the call knows it. */
  readonly id: string
  /** `gen:epoch` of the lease. */
  readonly epoch: string
  readonly host: string
  /** Of a lease: good for so long from its invoke on. */
  readonly leaseMs?: number
  readonly attempt?: number
  /** When the lease was asked for. */
  readonly invokedAt?: number
  /** Of a settle: the outcome, with what it costs. */
  readonly outcome?: 'done' | 'retry' | 'wait' | 'dead' | 'skipped' | 'back'
  /** Of a write. */
  readonly status?: string
  /** Of a fault: what was done, and to whom. */
  readonly fault?: string
  readonly target?: string
}

export interface Recorder {
  record(events: readonly Omit<HistoryEvent, 'tMono' | 'tWall' | 'proc'>[]): void
}

export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6

/** Written at once: what a process recorded before it was killed stands in the file. */
export function openRecorder(dir: string, proc: string): Recorder {
  const file = openSync(join(dir, `history-${proc}.jsonl`), 'a')
  return {
    record(events) {
      if (events.length === 0) return
      const tMono = monotonic()
      const tWall = Date.now()
      let lines = ''
      for (const event of events) lines += `${JSON.stringify({ tMono, tWall, proc, ...event })}\n`
      writeSync(file, lines)
    },
  }
}

/** Of all processes, in order of time. A line cut off by a kill is left out. */
export function readHistory(dir: string): HistoryEvent[] {
  const events: HistoryEvent[] = []
  for (const name of readdirSync(dir)) {
    if (!name.startsWith('history-')) continue
    for (const line of readFileSync(join(dir, name), 'utf8').split('\n')) {
      if (line.endsWith('}')) events.push(JSON.parse(line) as HistoryEvent)
    }
  }
  return events.sort((a, b) => a.tMono - b.tMono)
}
