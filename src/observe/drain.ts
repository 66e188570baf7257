import type { WorkerId } from '../frontier/frontier.js'
import type { Notes } from '../notes/notes.js'
import { drainKey } from './note-keys.js'

const AUTHOR = 'drain'
/** Longer than any worker takes to check, even one whose queue is down for a while. Worker names are never reused. */
const DRAIN_KEPT_MS = 3_600_000

/** The worker finishes what is in flight and stops, within seconds if it is alive; it is not replaced. Asking twice is the same as once. */
export async function askToDrain(notes: Pick<Notes, 'post'>, worker: WorkerId): Promise<void> {
  await notes.post(drainKey(worker), AUTHOR, 'drain', DRAIN_KEPT_MS)
}

export async function isAskedToDrain(notes: Pick<Notes, 'read'>, worker: WorkerId): Promise<boolean> {
  return (await notes.read(drainKey(worker))) !== null
}
