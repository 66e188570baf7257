import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@redis/client'
import { LOOPBACK, type Place } from './place.js'
import { endProcess, freePort, removeDirectory, startServerProcess, temporaryDirectory } from './server-process.js'
import { CA, GOOD, KEY } from './test-only-certificates.js'

export { freePort, removeDirectory, temporaryDirectory, until } from './server-process.js'

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
  /** Loopback when left out. */
  readonly place?: Place
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

export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const dir = options.dir ?? temporaryDirectory('redis')
  const port = options.port ?? (await freePort())
  const { address, within } = options.place ?? LOOPBACK
  const args = serverArguments(options, dir, port)
  const madeDir = options.dir === undefined ? dir : ''
  const start = () =>
    startServerProcess({
      command: 'redis-server',
      args,
      within,
      ready: /Ready to accept connections|\+monitor master/,
      madeDir,
    })
  let child = await start()

  const scheme = options.tls === true ? 'rediss' : 'redis'
  const user = options.password === undefined ? '' : `:${encodeURIComponent(options.password)}@`
  const query = options.tls === true ? `?ca=${encodeURIComponent(join(dir, 'ca.pem'))}` : ''
  return {
    port,
    dir,
    url: `${scheme}://${user}${address}:${port}${query}`,
    get pid() {
      return child.pid ?? 0
    },
    async stop() {
      await endProcess(child, 'SIGKILL')
      if (options.dir === undefined) removeDirectory(dir)
    },
    kill: () => endProcess(child, 'SIGKILL'),
    async restart() {
      await endProcess(child, 'SIGKILL')
      child = await start()
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  }
}

function serverArguments(options: RedisServerOptions, dir: string, port: number): string[] {
  mkdirSync(dir, { recursive: true })
  const args = options.configFile === undefined ? [] : [options.configFile]
  args.push('--bind', options.place?.address ?? LOOPBACK.address, '--dir', dir, '--save', '', '--daemonize', 'no')
  // Without a password it takes connections of its own machine only.
  if (options.place !== undefined) args.push('--protected-mode', 'no')
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
