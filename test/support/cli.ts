import { type ChildProcess, fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outputOf } from './child-output.js'

const HOST = fileURLToPath(new URL('./cli-host.mjs', import.meta.url))
export const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
}

/** A test that fails half-way leaves no command behind. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** What the machine or npm has set must not decide a test. */
function environment(): NodeJS.ProcessEnv {
  const { SHOAL_QUEUE: _queue, SHOAL_STORE: _store, SHOAL_PAGES: _pages, npm_command: _npm, ...env } = process.env
  return env
}

function keepTrackOf(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}

/** Starts the built command line in a process of its own; `result` resolves when it has ended. */
export function startCli(
  args: readonly string[],
  options: CliOptions = {},
): { child: ChildProcess; result: Promise<CliResult> } {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd,
    env: { ...environment(), ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  keepTrackOf(child)
  const output = outputOf(child)
  const result = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...output }))
  })
  return { child, result }
}

/** Each has loaded the program and waits for the next command. */
const idle: ChildProcess[] = []

/** Runs a command in a process that has run others before (`cli-host.mjs`), of which there are as many as commands run at once. */
export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  // Node reads these when a process starts.
  if (options.env?.NODE_OPTIONS !== undefined) return startCli(args, options).result
  const host = idle.pop() ?? startHost()
  host.ref()
  host.channel?.ref()
  return new Promise((resolve) => {
    const died = (code: number | null, signal: NodeJS.Signals | null) =>
      resolve({ code, signal, stdout: '', stderr: 'the process of the command died\n' })
    host.once('exit', died)
    host.once('message', ({ last, result }: { last: boolean; result: CliResult }) => {
      host.removeListener('exit', died)
      if (!last) idle.push(host)
      // One that waits does not keep this process from ending.
      host.unref()
      host.channel?.unref()
      resolve(result)
    })
    host.send({ args, env: options.env ?? {}, cwd: options.cwd ?? process.cwd() })
  })
}

function startHost(): ChildProcess {
  const host = fork(HOST, [], { env: environment(), stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  keepTrackOf(host)
  return host
}

export function lastJson(text: string): Record<string, unknown> {
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
}

export function tempDir(name: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `shoal-${name}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** The environment of a process that is on another machine, as far as the name of its worker says: nobody here may judge it by its process id. */
export function onMachine(name: string): { NODE_OPTIONS: string } {
  const rename = `import os from 'node:os'; import { syncBuiltinESMExports } from 'node:module'; os.hostname = () => '${name}'; syncBuiltinESMExports()`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(rename)}` }
}
