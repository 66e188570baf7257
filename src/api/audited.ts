import { type Details, audited as withNote } from '../observe/audit-control.js'
import type { ApiParts } from './parts.js'

/** Does what somebody asked for on the page, and notes it. */
export function audited<Answer>(
  { backends, clock, log }: ApiParts,
  { action, target, details = {} }: { readonly action: string; readonly target: string; readonly details?: Details },
  work: () => Promise<Answer>,
  outcome?: (answer: Answer) => Details,
): Promise<Answer> {
  return withNote({ store: backends.store, clock, log, by: 'dashboard' }, { action, target, details }, work, outcome)
}
