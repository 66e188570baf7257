import type { TracedStep } from '../observe/tracing/tracing.js'
import type { Visit } from './visit-parts.js'

/** One step of a visit, seen by whoever traces it. */
export function step<Result>(
  { trace }: Pick<Visit, 'trace'>,
  work: () => Promise<Result>,
  traced: () => TracedStep<Result>,
): Promise<Result> {
  return trace === undefined ? work() : trace.step(traced(), work)
}
