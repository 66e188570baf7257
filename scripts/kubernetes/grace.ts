/** What shutting down may take on top of `--grace`: up to 8 s when the queue is unreachable at that moment, and time to write what is finished. */
const AFTER_GRACE_SECONDS = 15

export interface Grace {
  /** What `--grace` gives the pages in flight. */
  readonly pages: number
  /** terminationGracePeriodSeconds: after this, the kubelet sends SIGKILL. */
  readonly pod: number
}

export function graceOf(pagesSeconds: number): Grace {
  return { pages: pagesSeconds, pod: pagesSeconds + AFTER_GRACE_SECONDS }
}

/** Nodes that stay: long enough for slow pages and rendered ones, short enough for `kubectl drain`. */
export const ON_DEMAND = graceOf(30)
/** 25 s of a notice of 30 s (Google Cloud, Azure). */
export const SPOT_30S = graceOf(10)
/** 105 s of a notice of 120 s (AWS). */
export const SPOT_2M = graceOf(90)

/** As a variable, not as an argument: lists of variables are merged by name, so that a component can change this one alone. */
export function graceSetting(grace: Grace): { name: string; value: string }[] {
  return [{ name: 'SHOAL_GRACE', value: `${grace.pages}s` }]
}
