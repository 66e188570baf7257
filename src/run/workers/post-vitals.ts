import type { Clock } from '../../clock.js'
import type { WorkerId } from '../../frontier/frontier.js'
import type { Notes } from '../../notes/notes.js'
import { vitalsKey } from '../../observe/note-keys.js'
import { VITALS_KEPT_MS, type Vitals } from '../../observe/vitals/vitals.js'

const AUTHOR = 'vitals'
/** A note that is taken away is replaced by an empty one, which is gone soon. */
const GONE_MS = 1_000
/** A queue that is away does not hold up who leaves: the note is gone by itself. */
const CLEAR_MS = 1_000

export interface VitalsNotes {
  /** On the notes for the whole fleet. While a note is on its way the next is left out: a queue that is away finds no pile when it is back. */
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
      // Nobody's crawl ends because a note could not be put up.
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
