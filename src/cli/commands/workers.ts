import type { Command } from 'commander'
import type { WorkerInfo } from '../../frontier/frontier.js'
import { workerRate, workerState } from '../../observe/health.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, count, duration, rate } from '../terminal/format.js'
import type { Style } from '../terminal/style.js'
import { type Column, table } from '../terminal/table.js'

export function workersCommand(program: Command): void {
  const command = program
    .command('workers')
    .description('the workers of the queue: where they run, what they hold, how fast they are, when they last got on')
    .action(
      acts(async (session) => {
        await session.withPlant(async ({ frontier }) => {
          const { output, clock, json } = session
          const now = clock.now()
          const workers = await frontier.workers()
          if (json) return output.jsonLines(workers.map((worker) => workerJson(worker, now)))
          if (workers.length === 0) return output.note('no workers')
          for (const line of workerTable(workers, now, output.width, output.style)) output.print(line)
        })
        return undefined
      }),
    )
  guide(command, {
    examples: [
      ['workers --queue redis://queue.example', 'a silent worker is forgotten after a day'],
      ['workers --json', 'worker,state,inHand,done,failed,rate,startedAt,seenAt,progressAt,about a line'],
    ],
  })
}

export function workerJson(worker: WorkerInfo, now: number): Record<string, unknown> {
  return { ...worker, state: workerState(worker, now), rate: workerRate(worker, now) }
}

export function workerTable(workers: readonly WorkerInfo[], now: number, width: number, style: Style): string[] {
  const rows = workers.map((worker) => {
    const state = workerState(worker, now)
    return [
      clean(worker.worker),
      clean(worker.about?.machine ?? ''),
      worker.about === null ? '' : String(worker.about.pid),
      clean(worker.about?.version ?? ''),
      state === 'silent' ? style.yellow(state) : state,
      count(worker.inHand),
      count(worker.done),
      count(worker.failed),
      rate(workerRate(worker, now)),
      worker.progressAt === null ? 'none yet' : ago(worker.progressAt, now),
      duration(now - worker.startedAt),
      ago(worker.seenAt, now),
    ]
  })
  const columns: Column[] = [
    { title: 'worker', shrinks: true },
    { title: 'machine' },
    { title: 'pid', right: true },
    { title: 'version' },
    { title: 'state' },
    ...['in hand', 'done', 'errors', 'rate', 'progress', 'age', 'seen'].map((title) => ({ title, right: true })),
  ]
  return table(columns, rows, width, style.dim)
}
