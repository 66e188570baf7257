import type { Command } from 'commander'
import { type WorkerState, workerRate } from '../../observe/snapshots/health.js'
import { type WorkerSnapshot, workerSnapshots } from '../../observe/snapshots/snapshot.js'
import type { SlotLimit, Vitals } from '../../observe/vitals/vitals.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, bytes, count, duration, percent, rate } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'
import { type Column, figure, naming, table } from '../terminal/table.js'
import { drainCommand } from './workers-drain.js'

export function workersCommand(program: Command): void {
  const command = program
    .command('workers')
    .description('list workers: where they run, how busy they are, their memory and last progress')
    .action(
      acts(async (session) => {
        await session.withBackends(async (backends) => {
          const { output, json } = session
          const now = backends.queueClock.now()
          const workers = await workerSnapshots(backends, now)
          if (json) return output.jsonLines(workers.map((worker) => workerJson(worker, now)))
          if (workers.length === 0) return output.note('no workers')
          for (const line of workerTable(workers, now, output.width, output.style)) output.print(line)
        })
      }),
    )
  guide(command, {
    examples: [
      [
        'workers --queue redis://queue.example',
        'workers of a fleet; missing ones are dropped from the list after a day',
      ],
      [
        'workers --json',
        'worker,state,inFlight,done,failed,rate,slots,slotsMost,slotsBecause,busy,rssBytes,loopBusy,loopLagMs,seenAt,progressAt,about,… one per line',
      ],
    ],
  })
  drainCommand(command)
}

export function workerJson({ vitals, ...worker }: WorkerSnapshot, now: number): Record<string, unknown> {
  const { slots, most, because, busy, rssBytes, heapBytes, loopBusy, loopLagMs } = vitals ?? NOT_REPORTED
  return {
    ...worker,
    rate: workerRate(worker, now),
    ...{ slots, slotsMost: most, slotsBecause: because, busy, rssBytes, heapBytes, loopBusy, loopLagMs },
  }
}

const NOT_REPORTED = {
  ...{ slots: null, most: null, because: null, busy: null },
  ...{ rssBytes: null, heapBytes: null, loopBusy: null, loopLagMs: null },
}

export function workerTable(workers: readonly WorkerSnapshot[], now: number, width: number, style: Style): string[] {
  const rows = workers.map((worker) => {
    const { vitals } = worker
    return [
      clean(worker.worker),
      clean(worker.about?.machine ?? ''),
      worker.about === null ? '' : String(worker.about.pid),
      clean(worker.about?.version ?? ''),
      stateText(worker.state, style),
      vitals === null ? '' : `${count(vitals.busy)}/${count(vitals.slots)}`,
      vitals === null ? '' : ceilingText(vitals),
      count(worker.inFlight),
      count(worker.done),
      count(worker.failed),
      rate(workerRate(worker, now)),
      vitals === null ? '' : bytes(vitals.rssBytes),
      vitals === null ? '' : percent(vitals.loopBusy, 1),
      vitals === null ? '' : duration(vitals.loopLagMs),
      worker.progressAt === null ? 'none yet' : ago(worker.progressAt, now),
      duration(now - worker.startedAt),
      ago(worker.seenAt, now),
    ]
  })
  const columns: Column[] = [
    naming('worker'),
    { title: 'machine', yields: 6 },
    figure('pid', 8),
    { title: 'version', yields: 9 },
    'state',
    figure('busy'),
    { title: 'at most', yields: 4 },
    figure('in flight', 2),
    ...['done', 'failed', 'rate'].map((title) => figure(title)),
    figure('memory', 1),
    figure('CPU', 3),
    figure('loop lag', 5),
    figure('progress', 4),
    figure('age', 10),
    figure('seen', 7),
  ]
  return table(columns, rows, width, style.dim)
}

/** Why it has no more slots. */
const LIMIT_WORDS: Readonly<Record<SlotLimit, string>> = {
  growing: 'growing',
  most: '',
  work: 'no more work',
  cpu: 'CPU',
  memory: 'memory',
  bodies: 'page bodies',
  outbox: 'commits',
}

/** `64 (CPU)`: its ceiling, and why it does not use all of it. */
export function ceilingText({ most, because }: Pick<Vitals, 'most' | 'because'>): string {
  const why = LIMIT_WORDS[because]
  return why === '' ? count(most) : `${count(most)} (${why})`
}

export function stateText(state: WorkerState, style: Style): string {
  if (state === 'missing') return style.red(state)
  return state === 'draining' ? style.yellow(state) : state
}
