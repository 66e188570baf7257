import type { Json } from '../url/link.js'

/** Something that a person should look at. It holds until it is gone: who sends alerts on sends each episode once. */
export interface Alert {
  /** Also the name of its log event. */
  readonly name: 'records.drift'
  readonly severity: 'warn'
  /** The same for as long as it lasts. */
  readonly episode: string
  readonly spider: string
  /** For a person, on one line. */
  readonly message: string
  /** For a program. */
  readonly fields: Readonly<Record<string, Json>>
}
