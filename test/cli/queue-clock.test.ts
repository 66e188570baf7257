import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { buildProgram } from '../../src/cli/program.js'
import type { Alert } from '../../src/observe/alerts/alert.js'
import { NO_ALERTS, postAlerts } from '../../src/observe/alerts/alert-notes.js'
import { openBackends } from '../../src/wire/backends.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { seedBackends, url } from './seeded-database.js'

/** A machine whose clock is an hour fast: ages and rests are the queue's, which has a clock of its own. */
const FAST_MS = 3_600_000
const dir = mkdtempSync(join(tmpdir(), 'shoal-queue-clock-'))
const store = `sqlite:${join(dir, 'shoal.db')}`
const pools = join(dir, 'pools.json')
let server: RedisServer

beforeAll(async () => {
  server = await startRedis()
  const {
    frontier,
    store: records,
    notes,
    proxies,
    close,
    queueClock,
  } = await openBackends({ queue: server.url, store })
  await seedBackends(frontier, records)
  const since = queueClock.now() - 60_000
  const alert: Alert = {
    ...{ rule: 'no_progress', severity: 'critical', episode: 'e', about: 'c1', crawl: 'c1', spider: 'shop' },
    ...{ message: 'nothing moves', next: 'Check it.', fields: {}, since },
  }
  await postAlerts(notes, 'w', { ...NO_ALERTS, active: [alert] }, queueClock.now())
  const limits = { delayMs: 0, concurrency: 1 }
  const asked = { ask: '1', pool: 'dc', site: 'shop.example', host: 'shop.example', limits }
  await proxies.grant([{ ...asked, proxies: ['p1'], holdMs: 60_000 }])
  const rest = { strikes: 1, baseMs: 1_800_000, capMs: 1_800_000 }
  const used = { proxy: 'p1', elapsedMs: 10, bytes: 0, cost: 0, rest }
  await proxies.report([{ ...asked, ...used, verdict: { kind: 'banned', retryAfterMs: null } }])
  await close()
  writeFileSync(pools, JSON.stringify({ dc: { entries: [{ name: 'p1', url: 'http://127.0.0.1:9' }] } }))
})
afterAll(async () => {
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

async function shown(...args: string[]): Promise<string> {
  let out = ''
  const fast = Date.now.bind(Date)
  const mocks = [
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      out += String(chunk)
      return true
    }),
    vi.spyOn(Date, 'now').mockImplementation(() => fast() + FAST_MS),
  ]
  try {
    const program = await buildProgram()
    await program.parseAsync(['node', 'shoal', ...args, '--queue', server.url, '--store', store])
    return out
  } finally {
    for (const mock of mocks) mock.mockRestore()
  }
}

it('alerts are as old as the queue says', async () => {
  expect(await shown('alerts')).toMatch(/, 1 min \d\d s ago$/m)
})

it('explain counts from the time of the queue', async () => {
  expect(await shown('explain', url('delayed'))).toMatch(/added (just now|\S+ s ago)/)
})

it('proxies rest until the queue says so', async () => {
  expect(await shown('proxies', 'list', '--proxies', pools)).toMatch(/^dc .*1 resting/m)
})
