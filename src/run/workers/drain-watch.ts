import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { Log } from '../../log.js'
import type { Notes } from '../../notes/notes.js'
import { isAskedToDrain } from '../../observe/drain.js'
import type { RunningWorker } from './start-worker.js'

const CHECK_MS = 2_000

/** Checks for a drain request every two seconds, and calls `onAsked` once. The returned function ends the watch. */
export function watchForDrain(
  worker: WorkerId,
  { notes, clock, log }: { notes: Pick<Notes, 'read'>; clock: Clock; log: Log },
  onAsked: () => void,
): () => void {
  const over = new AbortController()
  const watch = async () => {
    for (;;) {
      await clock.sleep(CHECK_MS, over.signal)
      if (over.signal.aborted) return
      try {
        if (!(await isAskedToDrain(notes, worker)) || over.signal.aborted) continue
      } catch {
        // A queue that is down is asked again; any other problem ends the worker, not this watch.
        continue
      }
      log.info('worker.draining', { worker, why: 'asked from outside' })
      return onAsked()
    }
  }
  void watch()
  return () => over.abort()
}

/** A worker on this event loop that can be drained from outside. */
export function drainable(
  worker: RunningWorker,
  id: WorkerId,
  { notes }: { readonly notes: Notes },
  clock: Clock,
  log: Log,
  graceMs: number,
): RunningWorker {
  let drained = false
  const unwatch = watchForDrain(id, { notes, clock, log }, () => {
    drained = true
    void worker.stop(graceMs)
  })
  return {
    stop: (ms) => worker.stop(ms),
    ended: worker.ended.finally(unwatch),
    get drained() {
      return drained
    },
  }
}
