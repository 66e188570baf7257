import type { Clock } from '../clock.js'
import { asShoalError } from '../errors.js'
import type { Log } from '../log.js'
import type { AuditEntry, AuditLog } from '../store/audit.js'
import type { Json } from '../url/link.js'

/** A store that is down delays an action for no longer than this. */
const NOTE_MS = 5_000

export interface Auditor {
  readonly audit: Pick<AuditLog, 'log'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** `dashboard`, or `cli user@machine`. */
  readonly by: string
}

/** Without secrets: everyone with access can read them. */
export type Details = Readonly<Record<string, Json>>
export type Control = Pick<AuditEntry, 'action' | 'target'> & { readonly details: Details }

/**
 * Runs an action and writes it to the audit log with its result. The caller gets what the work returns or throws, whether or not the entry
 * could be written. `outcome`: details to add to the entry on success.
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

async function note({ audit, clock, log }: Auditor, entry: AuditEntry): Promise<void> {
  const { action, target } = entry
  const failed = (why: string) => log.warn('audit.failed', { action, target, why })
  await new Promise<void>((resolve) => {
    const forget = clock.after(NOTE_MS, () => {
      failed('no response from the store')
      resolve()
    })
    Promise.resolve()
      .then(() => audit.log(entry))
      .catch((error: unknown) => failed(asShoalError(error).code))
      .finally(() => {
        forget()
        resolve()
      })
  })
}
