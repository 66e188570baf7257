import { hostname, userInfo } from 'node:os'
import { createLog } from '../log.js'
import { audited, type Control, type Details } from '../observe/audit-control.js'
import type { RecordStore } from '../store/record-store.js'
import type { Session } from './session.js'
import { stderr } from './terminal/streams.js'

/** Runs a command's change to shared backends and writes it to the audit log. */
export function controlled<Result>(
  { clock, settings }: Session,
  store: RecordStore,
  control: Control,
  work: () => Promise<Result>,
  outcome?: (answer: Result) => Details,
): Promise<Result> {
  const log = createLog(settings.logLevel, clock, (line) => stderr.write(line))
  return audited({ audit: store.audit, clock, log, by: cliUser() }, control, work, outcome)
}

/** The user at this terminal, for the audit log. */
export function cliUser(): string {
  return `cli ${userName()}@${hostname()}`
}

/** In a container the user id often has no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.getuid?.() ?? 'unknown')
  }
}
