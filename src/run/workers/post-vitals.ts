import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import { vitalsKey } from '../../observe/note-keys.js'
import { VITALS_KEPT_MS, type Vitals } from '../../observe/vitals/vitals.js'

const AUTHOR = 'vitals'
/** A note is removed by replacing it with an empty one that expires soon. */
const GONE_MS = 1_000
/** A worker that leaves does not wait longer for a queue that is down: the note expires anyway. */
const CLEAR_MS = 1_000

export interface VitalsNotes {
  /** Posts to the shared notes. While one post is in flight the next is skipped, so that a queue that was down is not flooded when it is back. */
  post(vitals: Vitals): void
  /** The worker has left. */
  clear(worker: WorkerId): Promise<void>
}

export function postVitals(notes: Pick<Notes, 'post'>, clock: Clock): VitalsNotes {
  const posting = new Map<WorkerId, Promise<unknown>>()
  return {
    post(vitals) {
      const { worker } = vitals
      if (posting.has(worker)) return
      // A note that cannot be posted must not end a crawl.
      const posted = notes
        .post(vitalsKey(worker), AUTHOR, JSON.stringify(vitals), VITALS_KEPT_MS)
        .catch(() => {})
        .finally(() => posting.delete(worker))
      posting.set(worker, posted)
    },
    async clear(worker) {
      const cleared = new AbortController()
      const clearing = Promise.resolve(posting.get(worker))
        .then(() => notes.post(vitalsKey(worker), AUTHOR, '', GONE_MS))
        .catch(() => {})
        .finally(() => cleared.abort())
      await Promise.race([clearing, clock.sleep(CLEAR_MS, cleared.signal)])
    },
  }
}
