import { type ChildProcess, spawn } from 'node:child_process'
import { basename } from 'node:path'
import type { Clock } from '../../clock.js'
import type { AlertChannel, AlertDelivered } from '../../observe/alerts/deliver-alert.js'

const TIMEOUT_MS = 30_000
/** As much of its error output as is useful. */
const SHOWN_LENGTH = 200
const LAST_WORDS_MS = 500

/** A program that receives alerts: run without a shell, with the alert as JSON on standard input, and a timeout. */
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
    deliver: (message, signal) =>
      new Promise<AlertDelivered>((resolve) => {
        let child: ChildProcess
        try {
          // Its own process group: its children end with it, and Ctrl-C in our terminal does not reach it.
          child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'], detached: true, env })
        } catch (error) {
          // Some failures to start come as an event, others are thrown: a path through a file, arguments that are too long.
          return resolve(notStarted(error))
        }
        let complaint = ''
        const end = (result: AlertDelivered) => {
          cancel()
          signal.removeEventListener('abort', stop)
          child.stderr?.destroy()
          resolve(result)
        }
        child.on('error', (error) => end(notStarted(error)))
        const giveUp = (why: string) => {
          killGroup(child)
          end({ kind: 'down', message: why })
        }
        const stop = () => giveUp('the process ended before it did')
        const cancel = clock.after(timeoutMs, () => giveUp(`it did not end within ${timeoutMs / 1000} s`))
        signal.addEventListener('abort', stop, { once: true })
        // Without free file descriptors there are no pipes; the error event above reports that.
        child.stderr?.setEncoding('utf8').on('data', (text: string) => {
          if (complaint.length < SHOWN_LENGTH) complaint += text
        })
        // A program that does not read its input may still succeed.
        child.stdin?.on('error', () => {})
        child.on('exit', (code, killedBy) => {
          if (code === 0) return end({ kind: 'delivered' })
          const judge = () => {
            const said = complaint.slice(0, SHOWN_LENGTH).replace(/\s+/g, ' ').trim()
            end({ kind: 'down', message: `it ended with ${code ?? killedBy}${said === '' ? '' : `: ${said}`}` })
          }
          // Its last output may still arrive; a process that it started may keep the pipe open for ever.
          child.stderr?.once('close', judge)
          clock.after(LAST_WORDS_MS, judge)
        })
        child.stdin?.end(`${JSON.stringify(message)}\n`)
        if (signal.aborted) stop()
      }),
  }
}

/** This machine has too few files, processes or memory at the moment. */
const SHORT: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])

function notStarted(error: unknown): AlertDelivered {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (SHORT.has(code)) return { kind: 'down', message: `it cannot be started now (${code})` }
  return { kind: 'rejected', message: code === 'ENOENT' ? 'there is no such program' : 'it cannot be started' }
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}
