import type { Command } from 'commander'
import { ShoalError } from '../../errors.js'
import type { WorkerInfo } from '../../frontier/frontier.js'
import { nearest } from '../../nearest.js'
import { askToDrain } from '../../observe/drain.js'
import { workerState } from '../../observe/snapshots/health.js'
import { controlled } from '../controlled.js'
import { guide } from '../help.js'
import { acts } from '../session.js'
import { clean } from '../terminal/clean.js'
import { ago, plural } from '../terminal/format.js'

/** `shoal workers drain <worker>`. */
export function drainCommand(workers: Command): void {
  const command = workers
    .command('drain')
    .description('let a worker finish what is in flight and stop; it is not replaced')
    .argument('<worker>', 'worker name as listed by `shoal workers`, or a prefix of it')
    .action(
      acts(async (session, word: string) => {
        await session.withBackends(async ({ frontier, notes, store, queueClock }) => {
          const chosen = chooseWorker(await frontier.workers(), word)
          const { worker, inFlight } = chosen
          const missing = workerState(chosen, queueClock.now()) === 'missing'
          await controlled(session, store, { action: 'worker.drain', target: worker, details: {} }, () =>
            askToDrain(notes, worker),
          )
          if (session.json) return session.output.json({ worker, inFlight, draining: true })
          session.output.print(
            missing
              ? `${clean(worker)} was last seen ${ago(chosen.seenAt, queueClock.now())}: it stops if it comes back; other workers take over its links`
              : `${clean(worker)} is finishing ${plural(inFlight, 'page')} in flight and will stop within seconds`,
          )
        })
      }),
    )
  guide(command, {
    examples: [['workers drain mill-4711', 'the worker whose name starts with mill-4711']],
    exitCodes: ['notFound'],
  })
}

function chooseWorker(workers: readonly WorkerInfo[], word: string): WorkerInfo {
  const exact = workers.find(({ worker }) => worker === word)
  if (exact !== undefined) return exact
  const [first, ...more] = workers.filter(({ worker }) => worker.startsWith(word))
  if (first === undefined) {
    const guess = nearest(
      word,
      workers.map(({ worker }) => worker),
    )
    throw new ShoalError('not_found', `there is no worker ${clean(word)}`, {
      hint: guess === null ? 'List them with `shoal workers`.' : `Did you mean ${guess}?`,
    })
  }
  if (more.length > 0)
    throw new ShoalError('usage', `'${clean(word)}' matches ${plural(more.length + 1, 'worker')}`, {
      hint: `Use a longer prefix, for example ${first.worker}.`,
    })
  return first
}
