import { spawn } from 'node:child_process'
import type { Violation } from '../chaos/checker.js'
import { childOf } from '../chaos/children.js'
import { outputOf } from '../support/child-output.js'
import { BIN, type CliResult } from '../support/cli.js'
import type { Place } from '../support/place.js'

/** What the commands say of the fleet while something is broken, asked from a host of the fleet or from this machine. */
export interface Answer extends CliResult {
  readonly ms: number
}

/** However broken the network is, a command does not hang. */
const KILL_AFTER_MS = 60_000

export async function askFrom(
  { within }: Pick<Place, 'within'>,
  args: readonly string[],
  backends: { readonly queue: string; readonly store: string },
): Promise<Answer> {
  const shoal = [process.execPath, BIN, ...args, '--queue', backends.queue, '--store', backends.store]
  const [command = '', ...rest] = [...within, ...shoal]
  const began = performance.now()
  const child = childOf(spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] }))
  const late = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  const output = outputOf(child)
  return await new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(late)
      resolve({ code, signal, ...output, ms: performance.now() - began })
    })
  })
}

/** Exit code of commands whose queue or store cannot be used. */
const UNUSABLE = 4
/** Opening a connection fails after 4 s (queue) or 10 s (store); the rest is for starting the command on a busy machine. */
const ANSWERS_WITHIN_MS = 30_000

/** From a host that is cut off: a clear message, exit code 4, no hang. */
export function judgeCutOff({ code, ms, stderr }: Answer, part: 'queue' | 'store'): Violation[] {
  const untrue = (detail: string): Violation[] => [
    { invariant: 'I12', detail: `status on a host without its ${part}: ${detail}` },
  ]
  if (ms > ANSWERS_WITHIN_MS) return untrue(`took ${(ms / 1000).toFixed(1)} s`)
  if (code !== UNUSABLE) return untrue(`exit code ${code}, not ${UNUSABLE}: ${stderr.trim()}`)
  if (!stderr.includes(`${part}_`)) return untrue(`does not name what it cannot reach: ${stderr.trim()}`)
  return []
}

interface WorkerLine {
  readonly state: string
  readonly about: { readonly machine: string } | null
}

/** `shoal workers --json` on a host that sees everything: exactly the hosts in trouble are missing. */
export function judgeWorkers({ code, stdout, stderr }: Answer, missing: readonly string[]): Violation[] {
  const untrue = (detail: string): Violation[] => [{ invariant: 'I12', detail: `workers: ${detail}` }]
  if (code !== 0) return untrue(`exit code ${code}: ${stderr.trim()}`)
  const lines = stdout.split('\n').filter((line) => line.startsWith('{'))
  const listed = lines
    .map((line) => JSON.parse(line) as WorkerLine)
    .filter(({ state }) => state === 'missing')
    .map(({ about }) => about?.machine ?? '?')
  const said = [...new Set(listed)].sort().join(', ')
  const true_ = [...missing].sort().join(', ')
  return said === true_ ? [] : untrue(`missing: ${said || 'none'}; in truth: ${true_ || 'none'}`)
}
