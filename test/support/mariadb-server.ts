import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { endProcess, removeDirectory, startServerProcess, temporaryDirectory } from './server-process.js'

export interface MariaDb {
  /** Runs the statements with the client of the server; gives the rows of a last query, each as a JSON object. */
  execute(sql: string): Record<string, unknown>[]
  end(): Promise<void>
}

/** On a socket of its own, without a network: MySQL's own server is not in Debian. */
export async function startMariaDb(): Promise<MariaDb> {
  const dir = temporaryDirectory('mariadb')
  const data = join(dir, 'data')
  const socket = join(dir, 'socket')
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : []
  try {
    execFileSync(
      'mariadb-install-db',
      [...asRoot, '--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal'],
      {
        stdio: 'pipe',
      },
    )
  } catch (cause) {
    throw new Error('mariadb-server is not installed; run scripts/set-up-servers.sh, which says how', { cause })
  }
  const child = await startServerProcess({
    command: '/usr/sbin/mariadbd',
    args: [
      '--no-defaults',
      ...asRoot,
      `--datadir=${data}`,
      `--socket=${socket}`,
      '--skip-networking',
      '--innodb-flush-log-at-trx-commit=0',
    ],
    ready: /ready for connections/,
    madeDir: dir,
  })
  const client = (args: readonly string[], input: string) =>
    execFileSync(
      'mariadb',
      ['--no-defaults', `--socket=${socket}`, '--user=root', '--batch', '--raw', '--skip-column-names', ...args],
      {
        input,
        encoding: 'utf8',
        stdio: 'pipe',
      },
    )
  client([], 'CREATE DATABASE test_export')
  return {
    execute(sql) {
      const lines = client(['test_export'], sql).split('\n')
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Record<string, unknown>)
    },
    async end() {
      await endProcess(child, 'SIGTERM')
      removeDirectory(dir)
    },
  }
}
