import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastJson, runCli, tempDir } from '../support/cli.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const PASSWORD = 'canary-of-the-fleet-demo'
let redis: RedisServer
let postgres: PostgresServer
let store: string
let dir: ReturnType<typeof tempDir>

beforeAll(async () => {
  dir = tempDir('fleet-demo')
  redis = await startRedis({ aof: 'everysec', password: PASSWORD })
  postgres = await startPostgres({ password: PASSWORD })
  store = await postgres.createDatabase()
})

afterAll(async () => {
  await redis.stop()
  await postgres.end()
  dir.remove()
})

const shoal = (args: string[], env = {}) => runCli(args, { cwd: dir.path, env })

describe('the fleet demo', () => {
  it('crawls with three processes on Redis and Postgres, and says where and how they shared the pages', async () => {
    const demo = ['demo', '--queue', redis.url, '--store', store, '--workers', '3', '--products', '60']
    const { code, stdout, stderr } = await shoal(demo)
    expect(code, stderr).toBe(0)
    expect(stderr).toContain(`queue redis://:***@127.0.0.1:${redis.port}, records postgres://postgres:***@127.0.0.1`)
    // Copied as they are, the commands work once the variables are set.
    expect(stderr).toContain('workers --queue "$SHOAL_QUEUE" --store "$SHOAL_STORE"')
    expect(stdout).toMatch(/\d+ {2}pages fetched.*\n +by 3 workers: \d+, \d+, \d+\n/)
    expect(stdout + stderr).not.toContain(PASSWORD)
    // The queue is on a server, and so are the records: nothing to warn of.
    expect(stderr).not.toContain('backend.warning')
  }, 120_000)

  it('is found by every command under the addresses that a platform sets, and each says so', async () => {
    const env = { REDIS_URL: redis.url, DATABASE_URL: store }
    const status = await shoal(['status'], env)
    expect(status.stdout).toContain('demo')
    expect(status.stderr).toMatch(
      /^queue redis:\/\/:\*\*\*@\S+ \(from REDIS_URL\), records postgres:.* \(from DATABASE_URL\)/,
    )
    expect(status.stderr).not.toContain(PASSWORD)
    const records = await shoal(['records', 'list', '--limit', '1', '--json'], env)
    expect(lastJson(records.stdout)).toMatchObject({ kind: 'product' })
    expect(records.stderr).toBe('')
    // The own name wins, and needs no line from a command that only reads.
    const own = await shoal(['status'], { SHOAL_QUEUE: redis.url, REDIS_URL: 'redis://127.0.0.1:1' })
    expect(own.stdout).toContain('demo')
    expect(own.stderr).toBe('')
  }, 60_000)
})

it('a start with the queue on a server and records in a file warns, and names both', async () => {
  const spider = join(dir.path, 'spider.mjs')
  writeFileSync(
    spider,
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'idle', start: ['http://127.0.0.1:9/'], routes: { page: { match: '/**' } } })`,
  )
  const { code, stderr } = await shoal(['worker', spider, '--exit-when-idle'], { REDIS_URL: redis.url })
  expect(code, stderr).toBe(0)
  expect(stderr).toMatch(
    /"event":"backend.warning","message":"the queue redis:\/\/127.0.0.1:\d+ is shared, but records go to sqlite:\.shoal\/shoal\.db/,
  )
  expect(stderr).not.toContain(PASSWORD)
}, 60_000)
