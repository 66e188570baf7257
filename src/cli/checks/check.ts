/** One line of `shoal doctor`. */
export interface Check {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do about it; empty when all is well. */
  readonly next: string
}
