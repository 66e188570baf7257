/** Where a process of a test runs: on this machine's own network when there is none, or on a host of a fleet (test/fleet/network.ts). */
export interface Place {
  readonly address: string
  /** What is put before a command, so that it runs there. It replaces itself with the command: the process id is that of the command. */
  readonly within: readonly string[]
}

export const LOOPBACK: Place = { address: '127.0.0.1', within: [] }
