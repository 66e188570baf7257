import type { ApiFailure } from '../api.js'
import { useLive } from '../live.js'
import { Failure } from '../parts/failure.js'

export interface PartFailureProps {
  readonly failure: ApiFailure | null
  readonly again: () => void
}

/** The error of a view inside a crawl's frame, unless the frame already shows the same one. */
export function PartFailure({ failure, again }: PartFailureProps) {
  const { failure: shown } = useLive()
  return failure === null || failure.code === shown?.code ? null : <Failure failure={failure} again={again} />
}
