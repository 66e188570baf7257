/** The slowest stage now, and what would help. */
export interface Advice {
  readonly stage: Stage
  /** For a person, one line: what it is, with the figure that says so. */
  readonly sentence: string
  /** What to do about it, one line; '' when there is nothing to do. */
  readonly next: string
  /** Further workers like those there are that would still make it faster; 0: none. */
  readonly moreWorkers: number
  /** Where one host decides. */
  readonly host: string | null
}

/**
 * `workers`: every slot is busy, and hosts, proxies, store and queue have room: more of them help. `host_pace`: the pace of hosts decides. `hosts`: their answers are
 * slow. `none`: nothing holds it up, or nothing runs.
 */
export type Stage =
  | 'host_pace'
  | 'hosts'
  | 'proxies'
  | 'queue'
  | 'store'
  | 'handler'
  | 'cpu'
  | 'memory'
  | 'workers'
  | 'none'
