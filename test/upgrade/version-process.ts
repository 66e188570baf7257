import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { outputOf } from '../support/child-output.js'

/** One of the two builds, and what it is called in the report. */
export interface Version {
  readonly name: 'old' | 'new'
  readonly folder: string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface VersionProcess {
  readonly version: Version
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What it has printed so far. */
  printed(): string
}

const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function startVersion(
  version: Version,
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string> },
): VersionProcess {
  const child = spawn(process.execPath, [join(version.folder, 'bin/shoal.js'), ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  const output = outputOf(child)
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      running.delete(child)
      resolve({ code, ...output })
    })
  })
  return { version, child, ended, printed: () => output.stdout + output.stderr }
}
