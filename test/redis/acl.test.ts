import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openForTest, redisForTest } from '../support/redis-opened.js'
import { redisCommand } from '../support/redis-server.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The user of docs/operating.md. */
const USER = /^user shoal .*$/m.exec(readFileSync(join(ROOT, 'docs/operating.md'), 'utf8'))?.[0] ?? ''

const ADMIN = 'user default on nopass ~* &* +@all'

/** Every quoted word in capitals of the code that talks to Redis. */
function capitals(): string[] {
  const words = ['src/frontier/redis', 'src/feed/redis', 'src/notes/redis', 'src/proxy/redis'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|lua)$/.test(file))
      .flatMap((file) => [...readFileSync(join(ROOT, folder, file), 'utf8').matchAll(/'([A-Z]{3,})'/g)])
      .map(([, word = '']) => word),
  )
  return [...new Set(words)]
}

/** Error codes with the name of a command, commands that may be forbidden, and those looked at with their second word below. */
const NOT_SENT = new Set(['READONLY', 'ASKING', 'PING', 'SENTINEL', 'CONFIG', 'CLUSTER', 'XGROUP', 'XINFO'])

test('The user with the least rights may run every command of the code, and no dangerous one', async () => {
  const server = await redisForTest({ acl: [ADMIN, USER] })
  const dryRun = async (...command: string[]) =>
    String(await redisCommand(server.port, 'ACL', 'DRYRUN', 'shoal', ...command))
  const words = capitals().filter((word) => !NOT_SENT.has(word))
  const known = await redisCommand(server.port, 'COMMAND', 'INFO', ...words)
  if (!Array.isArray(known)) throw new Error('COMMAND INFO answers no list')
  const commands = known.flatMap((entry: unknown) =>
    Array.isArray(entry) ? [[String(entry[0]), Number(entry[1])] as const] : [],
  )
  expect(commands.length).toBeGreaterThan(30)
  const forbidden: string[] = []
  for (const [name, arity] of commands) {
    const args = Array.from({ length: Math.abs(arity) - 1 }, () => '{shoal}')
    if (/permissions to run/.test(await dryRun(name, ...args))) forbidden.push(name)
  }
  expect(forbidden).toEqual([])
  expect(await dryRun('XGROUP', 'CREATE', 'shoal:feed:s', 'g', '0')).toBe('OK')
  expect(await dryRun('XINFO', 'GROUPS', 'shoal:feed:s')).toBe('OK')
  expect(await dryRun('CLUSTER', 'SLOTS')).toBe('OK')
  expect(await dryRun('FLUSHALL')).toMatch(/no permissions/)
  expect(await dryRun('KEYS', '*')).toMatch(/no permissions/)
  expect(await dryRun('CONFIG', 'SET', 'save', '')).toMatch(/no permissions/)
  expect(await dryRun('GET', 'somebody-elses')).toMatch(/no permissions/)
})

test('The user with the least rights can open a connection', async () => {
  const server = await redisForTest({ acl: [ADMIN, USER] })
  const redis = await openForTest(`redis://shoal:password@127.0.0.1:${server.port}/1`)
  expect(String(await redis.command('{shoal}x', ['SET', '{shoal}x', '1']))).toBe('OK')
})
