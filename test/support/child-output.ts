import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'

/** What the child has printed so far. */
export function outputOf(child: ChildProcessByStdio<null, Readable, Readable>): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk
    })
  return output
}
