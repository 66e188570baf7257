import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const running = new Set<ChildProcess>()
const directories = new Set<string>()

// A test that was interrupted leaves no server behind; the watchdog below covers SIGKILL.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const dir of directories) rmSync(dir, { recursive: true, force: true })
})

/** Ends the server when this process is gone, however it ended: the end of the pipe is the signal. */
const WATCHDOG = 'read _; kill -9 "$1"; test -z "$2" || rm -rf "$2"'

export function temporaryDirectory(name: string): string {
  const dir = mkdtempSync(join(tmpdir(), `shoal-${name}-`))
  directories.add(dir)
  return dir
}

export function removeDirectory(dir: string): void {
  // A killed server's own children may still be writing their last file.
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  directories.delete(dir)
}

/** A free port below 55535: a Redis cluster node also takes the port 10000 above its own. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 25_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

export interface ServerProcess {
  readonly command: string
  readonly args: readonly string[]
  /** Put before the command (place.ts). */
  readonly within?: readonly string[]
  /** Of the user to run as; the user of this process when left out. */
  readonly user?: { readonly uid: number; readonly gid: number }
  /** What the server logs when it can be used. */
  readonly ready: RegExp
  /** Removed when this process is killed; '' for none. */
  readonly madeDir: string
}

/** Resolves when the server says that it is ready: with its data loaded, and on its own port. */
export async function startServerProcess(server: ServerProcess): Promise<ChildProcess> {
  const name = server.command.slice(server.command.lastIndexOf('/') + 1)
  const { within = [] } = server
  const [command = server.command, ...args] = [...within, ...asUser(server), ...server.args]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(within.length > 0 ? {} : server.user) })
  const spawned = once(child, 'spawn').catch((cause: unknown) => {
    throw new Error(`${name} is not installed; run scripts/set-up-servers.sh, which says how`, { cause })
  })
  const ready = watchLog(child, name, server.ready)
  ready.catch(() => {})
  await spawned
  running.add(child)
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', String(child.pid), server.madeDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watchdog.on('error', () => {})
  watchdog.unref()
  child.once('exit', () => {
    running.delete(child)
    watchdog.kill('SIGKILL')
  })
  await ready
  return child
}

/** On another host only root may enter, so the user is changed there. */
function asUser({ within = [], user, command }: ServerProcess): string[] {
  if (within.length === 0 || user === undefined) return [command]
  return ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', command]
}

async function watchLog(child: ChildProcess, name: string, ready: RegExp): Promise<void> {
  let log = ''
  await new Promise<void>((resolve, reject) => {
    const giveUp = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${name} is not ready after a minute:\n${log}`))
    }, 60_000)
    const read = (chunk: Buffer) => {
      log = `${log}${chunk}`.slice(-4000)
      if (!ready.test(log)) return
      clearTimeout(giveUp)
      resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('close', () => {
      clearTimeout(giveUp)
      reject(new Error(`${name} ended:\n${log}`))
    })
  })
}

/** Sends the signal and waits for the end; a stopped process is let go on, so that it can end. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  if (signal !== 'SIGKILL') child.kill('SIGCONT')
  await exited
}

/** Looks again and again until it holds. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 20_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}
