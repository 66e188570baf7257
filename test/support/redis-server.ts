import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@redis/client'
import { CA, GOOD, KEY } from './test-only-certificates.js'

export interface RedisServer {
  readonly port: number
  /** With the password, if there is one. */
  readonly url: string
  readonly dir: string
  readonly pid: number
  /** Ends the process and removes its directory (unless it was given). */
  stop(): Promise<void>
  /** SIGKILL; the directory stays. */
  kill(): Promise<void>
  /** Starts it again on the same directory and port; ends it first (SIGKILL) when it still runs. */
  restart(): Promise<void>
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
}

export interface RedisServerOptions {
  readonly port?: number
  /** Kept at the end when given. */
  readonly dir?: string
  /** `appendfsync`; no append-only file when left out. */
  readonly aof?: 'always' | 'everysec' | 'no'
  readonly password?: string
  /** Lines of an ACL file: 'user shoal on >secret ~* +@all'. */
  readonly acl?: readonly string[]
  /** Speaks only TLS, with the test certificate. */
  readonly tls?: boolean
  /** A configuration file, read first; Sentinels need one. */
  readonly configFile?: string
  /** Further arguments: ['--maxmemory', '4mb']. */
  readonly args?: readonly string[]
}

const running = new Set<ChildProcess>()
const directories = new Set<string>()

// A test that was interrupted leaves no server behind; the watchdog below covers SIGKILL.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const dir of directories) rmSync(dir, { recursive: true, force: true })
})

/** Ends the server when this process is gone, however it ended: the end of the pipe is the signal. */
const WATCHDOG = 'read _; kill -9 "$1"; test -z "$2" || rm -rf "$2"'

export function temporaryDirectory(name = 'redis'): string {
  const dir = mkdtempSync(join(tmpdir(), `shoal-${name}-`))
  directories.add(dir)
  return dir
}

export function removeDirectory(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
  directories.delete(dir)
}

/** A free port below 55535: a cluster node also takes the port 10000 above its own. */
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

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? temporaryDirectory()
  const port = options.port ?? (await freePort())
  const args = serverArguments(options, dir, port)
  const madeDir = options.dir === undefined ? dir : ''
  let child = await startProcess(args, madeDir)

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill(signal)
      if (signal !== 'SIGKILL') child.kill('SIGCONT')
      await exited
    }
  }

  const scheme = options.tls === true ? 'rediss' : 'redis'
  const user = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`
  const query = options.tls === true ? `?ca=${encodeURIComponent(join(dir, 'ca.pem'))}` : ''
  return {
    port,
    dir,
    url: `${scheme}://${user}127.0.0.1:${port}${query}`,
    get pid() {
      return child.pid ?? 0
    },
    async stop() {
      await end('SIGKILL')
      if (options.dir === undefined) removeDirectory(dir)
    },
    kill: () => end('SIGKILL'),
    async restart() {
      await end('SIGKILL')
      child = await startProcess(args, madeDir)
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

function serverArguments(options: RedisServerOptions, dir: string, port: number): string[] {
  mkdirSync(dir, { recursive: true })
  const args = options.configFile === undefined ? [] : [options.configFile]
  args.push('--bind', '127.0.0.1', '--dir', dir, '--save', '', '--daemonize', 'no')
  args.push('--appendonly', options.aof === undefined ? 'no' : 'yes')
  if (options.aof !== undefined) args.push('--appendfsync', options.aof)
  if (options.password !== undefined) args.push('--requirepass', options.password)
  if (options.acl !== undefined) {
    writeFileSync(join(dir, 'users.acl'), `${options.acl.join('\n')}\n`)
    args.push('--aclfile', join(dir, 'users.acl'))
  }
  if (options.tls === true) {
    writeFileSync(join(dir, 'ca.pem'), CA)
    writeFileSync(join(dir, 'cert.pem'), GOOD)
    writeFileSync(join(dir, 'key.pem'), KEY)
    args.push('--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no')
    args.push('--tls-ca-cert-file', join(dir, 'ca.pem'), '--tls-cert-file', join(dir, 'cert.pem'))
    args.push('--tls-key-file', join(dir, 'key.pem'))
  } else {
    args.push('--port', String(port))
  }
  return [...args, ...(options.args ?? [])]
}

async function startProcess(args: readonly string[], madeDir: string): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const spawned = once(child, 'spawn').catch((cause: unknown) => {
    throw new Error('redis-server is not installed; run scripts/set-up-servers.sh, which says how', { cause })
  })
  const ready = watchLog(child)
  ready.catch(() => {})
  await spawned
  running.add(child)
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG, 'watchdog', String(child.pid), madeDir], {
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

/** Resolves when the server says that it is ready: with its data loaded, and on its own port. */
async function watchLog(child: ChildProcess): Promise<void> {
  let log = ''
  await new Promise<void>((resolve, reject) => {
    const giveUp = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`redis-server is not ready after a minute:\n${log}`))
    }, 60_000)
    const read = (chunk: Buffer) => {
      log = `${log}${chunk}`.slice(-4000)
      if (!/Ready to accept connections|\+monitor master/.test(log)) return
      clearTimeout(giveUp)
      resolve()
    }
    child.stdout?.on('data', read)
    child.stderr?.on('data', read)
    child.once('close', () => {
      clearTimeout(giveUp)
      reject(new Error(`redis-server ended:\n${log}`))
    })
  })
}

/** One command on a connection of its own; bulk strings as text. */
export async function redisCommand(port: number, ...args: string[]): Promise<unknown> {
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false }, RESP: 2 })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.sendCommand<unknown>(args)
  } finally {
    client.destroy()
  }
}

/** Looks again and again until it holds. */
export async function until(what: string, holds: () => Promise<boolean>, withinMs = 20_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`)
    await sleep(20)
  }
}
