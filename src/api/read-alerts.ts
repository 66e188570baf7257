import type { Board } from '../board/board.js'
import { ALERTS_KEY } from '../observe/board-keys.js'
import type { AlertBoard } from './api-types.js'
import { alertBoard } from './schemas.js'

const NONE: AlertBoard = { active: [], ended: [] }

/** What the watcher of the fleet found. Garbage, and what another version writes, count as nothing. */
export async function readAlerts(board: Board): Promise<AlertBoard> {
  const note = await board.read(ALERTS_KEY)
  if (note === null) return NONE
  try {
    return alertBoard.safeParse(JSON.parse(note.text)).data ?? NONE
  } catch {
    return NONE
  }
}
