import type { Board } from '../notes/notes.js'
import type { WorkerId } from '../frontier/frontier.js'
import { drainKey } from './note-keys.js'

const AUTHOR = 'drain'
/** Longer than any worker takes to look, also one whose queue is away for a while. No worker comes back under the same name. */
export const DRAIN_KEPT_MS = 3_600_000

/** The worker finishes what it holds and leaves, within seconds if it lives; nobody takes its place. Asked again, it is asked once. */
export async function askToDrain(board: Pick<Board, 'post'>, worker: WorkerId): Promise<void> {
  await board.post(drainKey(worker), AUTHOR, 'drain', DRAIN_KEPT_MS)
}

export async function isAskedToDrain(board: Pick<Board, 'read'>, worker: WorkerId): Promise<boolean> {
  return (await board.read(drainKey(worker))) !== null
}
