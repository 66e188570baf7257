import type { HostKey } from '../url/link.js'

/** A result, not an error: no slot is free soon enough. The link goes back to the queue, where waiting costs nothing. */
export class Busy {
  readonly kind = 'busy'
  readonly waitMs: number
  /** The host that the queue itself keeps closed meanwhile; null: the queue does not know about the wait. */
  readonly closedHost: HostKey | null

  constructor(waitMs: number, closedHost: HostKey | null = null) {
    this.waitMs = waitMs
    this.closedHost = closedHost
  }
}
