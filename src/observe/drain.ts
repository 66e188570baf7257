import type { WorkerId } from '../frontier/frontier.js'
import type { Notes } from '../notes/notes.js'
import { drainKey } from './note-keys.js'

const AUTHOR = 'drain'
/** Longer than any worker takes to look, also one whose queue is away for a while. No worker comes back under the same name. */
const DRAIN_KEPT_MS = 3_600_000

/** The worker finishes what it holds and leaves, within seconds if it lives; nobody takes its place. Asked again, it is asked once. */
export async function askToDrain(notes: Pick<Notes, 'post'>, worker: WorkerId): Promise<void> {
  await notes.post(drainKey(worker), AUTHOR, 'drain', DRAIN_KEPT_MS)
}

export async function isAskedToDrain(notes: Pick<Notes, 'read'>, worker: WorkerId): Promise<boolean> {
  return (await notes.read(drainKey(worker))) !== null
}
