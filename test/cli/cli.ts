import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/shoal.js', import.meta.url))

export interface CliResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the built command line with pipes, as a program would. */
export function shoal(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const { SHOAL_QUEUE: _queue, SHOAL_STORE: _store, npm_command: _npm, ...env } = process.env
    const child = spawn(process.execPath, [BIN, ...args], {
      cwd: options.cwd,
      env: { ...env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
  })
}
