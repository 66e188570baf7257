import { type ChildProcess, spawn } from 'node:child_process'
import { basename } from 'node:path'
import type { Clock } from '../clock.js'
import type { AlertChannel, AlertTold } from '../observe/deliver-alert.js'

const TIMEOUT_MS = 30_000
/** Of what it complains of, as much as helps. */
const SHOWN_LENGTH = 200

/** A program that is told of alerts: no shell in between, the alert as JSON on its standard input, and an end to its patience. */
export function commandChannel(
  [program = '', ...args]: readonly string[],
  {
    clock,
    number,
    env,
    timeoutMs = TIMEOUT_MS,
  }: {
    readonly clock: Clock
    readonly number: number
    readonly env: NodeJS.ProcessEnv
    readonly timeoutMs?: number
  },
): AlertChannel {
  return {
    name: `command ${number} (${basename(program)})`,
    tell: (message, signal) =>
      new Promise<AlertTold>((resolve) => {
        // A group of its own: what it starts ends with it, and Ctrl-C in our terminal is not meant for it.
        const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true, env })
        let complaint = ''
        const end = (told: AlertTold) => {
          cancel()
          signal.removeEventListener('abort', stop)
          child.stderr.destroy()
          resolve(told)
        }
        const giveUp = (why: string) => {
          killGroup(child)
          end({ kind: 'away', message: why })
        }
        const stop = () => giveUp('it was not waited for')
        const cancel = clock.after(timeoutMs, () => giveUp(`it did not end within ${timeoutMs / 1000} s`))
        signal.addEventListener('abort', stop, { once: true })
        child.stderr.setEncoding('utf8').on('data', (text: string) => {
          if (complaint.length < SHOWN_LENGTH) complaint += text
        })
        // One that does not read what it is told may still end well.
        child.stdin.on('error', () => {})
        child.on('error', (error: NodeJS.ErrnoException) =>
          end({
            kind: 'refused',
            message: error.code === 'ENOENT' ? 'there is no such program' : 'it cannot be started',
          }),
        )
        child.on('exit', (code, killedBy) => {
          if (code === 0) return end({ kind: 'told' })
          const said = complaint.slice(0, SHOWN_LENGTH).replace(/\s+/g, ' ').trim()
          end({ kind: 'away', message: `it ended with ${code ?? killedBy}${said === '' ? '' : `: ${said}`}` })
        })
        child.stdin.end(`${JSON.stringify(message)}\n`)
        if (signal.aborted) stop()
      }),
  }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
