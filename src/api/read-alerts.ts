import type { Board } from '../board/board.js'
import { parseAlertNote } from '../observe/alert-book.js'
import { ALERTS_KEY } from '../observe/board-keys.js'
import type { AlertBoard } from './api-types.js'

/** What the watcher of the fleet found; whom it has told is its own. */
export async function readAlerts(board: Board): Promise<AlertBoard> {
  const { active, ended } = parseAlertNote((await board.read(ALERTS_KEY))?.text)
  return { active, ended }
}
