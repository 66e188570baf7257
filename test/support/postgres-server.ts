import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { LOOPBACK, type Place } from './place.js'
import {
  endProcess,
  freePort,
  removeDirectory,
  type ServerProcess,
  startServerProcess,
  temporaryDirectory,
} from './server-process.js'
import { CA, GOOD, KEY } from './test-only-certificates.js'

export interface PostgresServer {
  readonly port: number
  readonly dir: string
  /** Of the postmaster. */
  readonly pid: number
  /** Where a client connects, with the password if there is one; 'postgres' is there from the start. */
  address(database?: string): string
  /** A fresh empty database; gives its address. */
  createDatabase(): Promise<string>
  /** One statement on a connection of its own; rows as objects. */
  query(sql: string, database?: string): Promise<Record<string, unknown>[]>
  /** The definitions of a schema of the database `postgres` as pg_dump writes them, without partitions, comments and settings. */
  dumpSchema(schema: string): string
  /** immediate: without a checkpoint, as after a crash; fast: connections are cut, the data is written out. */
  stop(how: 'immediate' | 'fast'): Promise<void>
  /** SIGKILL of the postmaster; its children notice and end. */
  kill(): Promise<void>
  /** Again on the same data and port. */
  start(): Promise<void>
  /** Ends it and removes its directory. */
  end(): Promise<void>
}

export interface PostgresServerOptions {
  /** Loopback when left out. */
  readonly place?: Place
  /** A free one when left out. */
  readonly port?: number
  /** Commits reach the disk, as in production; off by default, for speed. */
  readonly durable?: boolean
  /** Settings of the server: { max_connections: '5', statement_timeout: '2s' }. */
  readonly settings?: Readonly<Record<string, string>>
  /** Asks for this password (SCRAM); everybody is trusted when left out. */
  readonly password?: string
  /** Refuses connections without TLS; the address names the certificate authority. */
  readonly tls?: boolean
  /** Where the data goes, such as a small file system; a temporary directory when left out. Kept at the end when given. */
  readonly dir?: string
}

const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const binaries = findBinaries()
  const dir = options.dir ?? temporaryDirectory('postgres')
  const port = options.port ?? (await freePort())
  const { address: host, within } = options.place ?? LOOPBACK
  const data = join(dir, 'data')
  // The server refuses to run as root: its user must reach the data through the directory above.
  chmodSync(dir, 0o711)
  execFileSync('cp', ['-r', emptyCluster(binaries), data])
  writeAccess(data, options)
  give(data)
  if (options.password !== undefined) setPassword(binaries, data, options.password)

  const args = ['-D', data, '-p', String(port), '-h', host, '-k', '']
  const settings = { ...(options.durable === true ? {} : NOT_DURABLE), ...options.settings }
  for (const [name, value] of Object.entries(settings)) args.push('-c', `${name}=${value}`)
  if (options.tls === true) args.push('-c', 'ssl=on')
  const start = () =>
    startPatiently(join(binaries, 'postgres'), args, { within, madeDir: options.dir === undefined ? dir : '' })
  let child = await start()
  let databases = 0

  const user = options.password === undefined ? 'postgres' : `postgres:${encodeURIComponent(options.password)}`
  const query =
    options.tls === true ? `?sslmode=verify-full&sslrootcert=${encodeURIComponent(join(dir, 'ca.pem'))}` : ''
  const address = (database = 'postgres') => `postgres://${user}@${host}:${port}/${database}${query}`
  if (options.tls === true) writeFileSync(join(dir, 'ca.pem'), CA)

  async function ask(sql: string, database?: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: address(database) })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows
    } finally {
      await client.end()
    }
  }

  return {
    port,
    dir,
    get pid() {
      return child.pid ?? 0
    },
    address,
    async createDatabase() {
      databases += 1
      const name = `test_${databases}`
      await ask(`CREATE DATABASE ${name} TEMPLATE template0`)
      return address(name)
    },
    query: ask,
    dumpSchema(schema) {
      const partitions = ['--exclude-table', `${schema}.fetches_*`, '--exclude-table', `${schema}.record_versions_*`]
      const args = ['--schema-only', '--no-owner', '--no-privileges', '--schema', schema, ...partitions, address()]
      const dump = execFileSync(join(binaries, 'pg_dump'), args, { encoding: 'utf8' })
      const lines = dump.split('\n').filter((line) => !/^(?:--|SET |SELECT pg_catalog|\\(?:un)?restrict)/.test(line))
      return `${lines
        .join('\n')
        .replace(/\n{3,}/g, '\n\n')
        .trim()}\n`
    },
    stop: (how) => endProcess(child, how === 'immediate' ? 'SIGQUIT' : 'SIGINT'),
    kill: () => endProcess(child, 'SIGKILL'),
    async start() {
      child = await start()
    },
    async end() {
      await endProcess(child, 'SIGQUIT')
      if (options.dir === undefined) removeDirectory(dir)
    },
  }
}

/** After a kill the children of the old server may hold its memory for a moment; the new one refuses to start until they are gone. */
async function startPatiently(
  command: string,
  args: readonly string[],
  where: Pick<ServerProcess, 'within' | 'madeDir'>,
) {
  const user = serverUser()
  for (let attempt = 1; ; attempt++) {
    try {
      const ready = /database system is ready to accept connections/
      return await startServerProcess({ command, args, ready, ...where, ...(user === undefined ? {} : { user }) })
    } catch (error) {
      if (attempt === 100 || !/pre-existing shared memory block|"postmaster.pid" already exists/.test(String(error))) {
        throw error
      }
      await sleep(100)
    }
  }
}

/** The newest of Debian's and Ubuntu's versions, or what is in PATH. */
function findBinaries(): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const places = [...versions.map((version) => join(debian, version, 'bin')), ...pathDirectories()]
  const found = places.find((place) => existsSync(join(place, 'initdb')) && existsSync(join(place, 'postgres')))
  if (found === undefined) throw new Error('postgres is not installed; run scripts/set-up-servers.sh, which says how')
  return found
}

function pathDirectories(): string[] {
  return (process.env.PATH ?? '').split(delimiter).filter((place) => place !== '')
}

/** The user that the distribution's package made; undefined when this process is not root and can run the server itself. */
function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function give(path: string): void {
  const user = serverUser()
  if (user !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, path])
}

/** initdb takes 0.6 s, a copy of what it made 0.04 s: so it runs once per version and stays in a cache. */
function emptyCluster(binaries: string): string {
  const version = execFileSync(join(binaries, 'postgres'), ['--version'], { encoding: 'utf8' }).trim()
  const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
  const made = join(cache, `shoal-${version.replace(/[^\w.]+/g, '-').toLowerCase()}-${process.getuid?.() ?? 0}`)
  if (existsSync(made)) return made

  const dir = temporaryDirectory('initdb')
  const user = serverUser()
  if (user !== undefined) chownSync(dir, user.uid, user.gid)
  const args = ['-D', join(dir, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  execFileSync(join(binaries, 'initdb'), args, { stdio: ['ignore', 'ignore', 'pipe'], ...user })
  mkdirSync(cache, { recursive: true })
  // Copied beside its final name and renamed, because other test files may be doing the same at this moment.
  const beside = `${made}-${process.pid}`
  execFileSync('cp', ['-r', join(dir, 'data'), beside])
  removeDirectory(dir)
  try {
    renameSync(beside, made)
  } catch {
    rmSync(beside, { recursive: true })
  }
  return made
}

function writeAccess(data: string, options: PostgresServerOptions): void {
  const kind = options.tls === true ? 'hostssl' : 'host'
  const method = options.password === undefined ? 'trust' : 'scram-sha-256'
  // On a host of a fleet its clients are on other hosts of the same network.
  const clients = options.place === undefined ? `${LOOPBACK.address}/32` : 'samenet'
  writeFileSync(join(data, 'pg_hba.conf'), `${kind} all all ${clients} ${method}\n`)
  if (options.tls !== true) return
  writeFileSync(join(data, 'server.crt'), GOOD)
  writeFileSync(join(data, 'server.key'), KEY, { mode: 0o600 })
}

/** In single-user mode, because nobody can connect before the password is set. */
function setPassword(binaries: string, data: string, password: string): void {
  const input = `ALTER ROLE postgres PASSWORD '${password.replaceAll("'", "''")}'\n`
  const done = spawnSync(join(binaries, 'postgres'), ['--single', '-D', data, 'postgres'], { input, ...serverUser() })
  if (done.status !== 0) throw new Error(`postgres --single: ${done.stderr}`)
}

export interface PgBouncer {
  readonly port: number
  address(database?: string): string
  end(): Promise<void>
}

/** In front of the server, in transaction mode: each transaction may run on another connection of the server. */
export async function startPgBouncer(postgres: PostgresServer, poolSize = 4): Promise<PgBouncer> {
  const dir = temporaryDirectory('pgbouncer')
  const port = await freePort()
  const file = join(dir, 'pgbouncer.ini')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: poolSize,
    max_client_conn: 200,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`)
  const target = `* = host=127.0.0.1 port=${postgres.port} user=postgres`
  writeFileSync(file, `[databases]\n${target}\n[pgbouncer]\n${lines.join('\n')}\n`)
  chmodSync(dir, 0o755)
  const user = serverUser()
  const child = await startServerProcess({
    command: ['/usr/sbin/pgbouncer'].find((path) => existsSync(path)) ?? 'pgbouncer',
    args: [file],
    ready: /process up/,
    madeDir: dir,
    ...(user === undefined ? {} : { user }),
  })
  return {
    port,
    address: (database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async end() {
      await endProcess(child, 'SIGKILL')
      removeDirectory(dir)
    },
  }
}
