import { systemClock } from '../clock.js'
import { createLog, type Log, type LogLevel } from '../log.js'
import { type LoggedOutput, logOutput } from '../run/output/log-output.js'
import { liveOnScreen } from './terminal/live.js'
import { logText } from './terminal/log-line.js'
import { stderr } from './terminal/streams.js'
import { styleFor } from './terminal/style.js'

/** Of the command's flags, once they are read. */
let level: LogLevel = 'warn'

export function setOutputLevel(next: LogLevel): void {
  level = next
}

/**
 * What spider code prints in the main thread of a command, where its file is loaded and its seeds and outlets run: lines of the log, on standard error
 * whatever stream they were meant for. Standard output belongs to the results.
 */
export function captureSpiderOutput(json: boolean): LoggedOutput {
  const style = styleFor(stderr, process.env)
  const print = (line: string) => {
    const live = liveOnScreen()
    if (live !== null) live.say(logText(line, style))
    else stderr.write(stderr.isTTY && !json ? `${logText(line, style)}\n` : line)
  }
  const log: Pick<Log, 'spider'> = { spider: (...line) => createLog(level, systemClock, print).spider(...line) }
  return logOutput({ clock: systemClock, log })
}
