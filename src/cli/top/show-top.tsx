import { render } from 'ink'
import { Top, type TopParts } from './top-app.js'

const ENTER_SCREEN = '\x1b[?1049h\x1b[2J\x1b[H'
const LEAVE_SCREEN = '\x1b[?1049l\x1b[?25h'

export interface Terminal {
  readonly stdin: NodeJS.ReadStream
  readonly stdout: NodeJS.WriteStream
}

/** Runs on the alternate screen and always restores the terminal, however it ends. */
export async function showTop(parts: TopParts, { stdin, stdout }: Terminal): Promise<void> {
  let left = false
  const leave = () => {
    if (!left) stdout.write(LEAVE_SCREEN)
    left = true
  }
  stdout.write(ENTER_SCREEN)
  process.once('exit', leave)
  // Not incrementalRendering: in ink 6.8 it starts each frame a line too low. A frame is one write, wrapped in a synchronized update for terminals that support it.
  const shown = render(<Top {...parts} />, { stdin, stdout, patchConsole: false, exitOnCtrlC: true })
  const stop = () => shown.unmount()
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  try {
    await shown.waitUntilExit()
  } finally {
    process.removeListener('SIGTERM', stop)
    process.removeListener('SIGINT', stop)
    process.removeListener('exit', leave)
    leave()
  }
}
