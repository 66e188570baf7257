import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'
import type { AuditEntry, AuditLog } from '../store/audit.js'
import type { Json } from '../url/link.js'

/** A store that is away holds a control up for no longer than this. */
const NOTE_MS = 5_000

export interface Auditor {
  readonly store: Pick<AuditLog, 'noteAudit'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** `dashboard`, or `cli user@machine`. */
  readonly by: string
}

/** No secrets among them: they are shown to whoever may look. */
export type Details = Readonly<Record<string, Json>>
export type Control = Pick<AuditEntry, 'action' | 'target'> & { readonly details: Details }

/**
 * Does what a person asked for, and notes it with what came of it. What the work answers or throws is what the caller gets, whether or not the
 * note could be written. `outcome`: what else the note says when it went well.
 */
export async function audited<Result>(
  auditor: Auditor,
  control: Control,
  work: () => Promise<Result>,
  outcome: (answer: Result) => Details = () => ({}),
): Promise<Result> {
  let result = 'ok'
  let { details } = control
  try {
    const answer = await work()
    details = { ...details, ...outcome(answer) }
    return answer
  } catch (error) {
    result = asShoalError(error).code
    throw error
  } finally {
    await note(auditor, { at: auditor.clock.now(), by: auditor.by, ...control, details, result })
  }
}

async function note({ store, clock, log }: Auditor, entry: AuditEntry): Promise<void> {
  const { action, target } = entry
  const failed = (why: string) => log.warn('audit.failed', { action, target, why })
  await new Promise<void>((resolve) => {
    const forget = clock.after(NOTE_MS, () => {
      failed('the store does not answer')
      resolve()
    })
    Promise.resolve()
      .then(() => store.noteAudit(entry))
      .catch((error: unknown) => failed(asShoalError(error).code))
      .finally(() => {
        forget()
        resolve()
      })
  })
}
