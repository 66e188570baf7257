import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface CliOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
}

export interface RunningCli {
  readonly ended: Promise<CliResult>
  kill(signal: NodeJS.Signals): void
  /** Resolves when the condition holds; the command must still run then. */
  until(holds: () => Promise<boolean>): Promise<void>
}

/** A test that fails half-way leaves no command behind. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts the built command line with pipes, as a program would. */
export function startShoal(args: readonly string[], options: CliOptions = {}): RunningCli {
  const { SHOAL_QUEUE: _queue, SHOAL_STORE: _store, npm_command: _npm, ...env } = process.env
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd,
    env: { ...env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
  return {
    ended,
    kill: (signal) => void child.kill(signal),
    async until(holds) {
      while (!(await holds())) {
        if (child.exitCode !== null) throw new Error(`it ended too early with ${child.exitCode}: ${err}${out}`)
      }
    },
  }
}

export function shoal(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startShoal(args, options).ended
}
