import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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

/** Starts the built command line; `result` resolves when it has ended. */
export function startCli(
  args: readonly string[],
  options: CliOptions = {},
): { child: ChildProcess; result: Promise<CliResult> } {
  // What the machine or npm has set must not decide a test.
  const { SHOAL_QUEUE: _queue, SHOAL_STORE: _store, SHOAL_PAGES: _pages, npm_command: _npm, ...env } = process.env
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd,
    env: { ...env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
  })
  const result = new Promise<CliResult>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }))
  })
  return { child, result }
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  return startCli(args, options).result
}

export function lastJson(text: string): Record<string, unknown> {
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
}

export function tempDir(name: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `shoal-${name}-`))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
