import type { ApiFailure } from '../api.js'
import { useLive } from '../live.js'
import { Failure } from '../parts/failure.js'

export interface PartFailureProps {
  readonly failure: ApiFailure | null
  readonly again: () => void
}

/** Of a view inside the frame of a crawl, which tells already that the queue is away: nothing is said twice. */
export function PartFailure({ failure, again }: PartFailureProps) {
  const { failure: told } = useLive()
  return failure === null || failure.code === told?.code ? null : <Failure failure={failure} again={again} />
}
