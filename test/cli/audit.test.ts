import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { shoal } from './cli.js'
import { CRAWL, seedDatabase, url } from './seeded-database.js'

it('what is done by hand is listed, newest first, also what failed', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-audit-'))
  await seedDatabase(join(dir, 'shoal.db'))
  const call = (...args: string[]) => shoal([...args, '--queue', `sqlite:${join(dir, 'shoal.db')}`], { cwd: dir })
  expect((await call('audit')).err).toContain('the audit log is empty')
  await call('hosts', 'set', 'shop.example', '--delay', '5s')
  await call('links', 'promote', url('leased'))
  await call('dead', 'replay', '--code', 'server_error')
  const { code, out } = await call('audit', '--json', '--limit', '3')
  expect(code).toBe(0)
  const entries = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const by = expect.stringMatching(/^cli .+@.+/)
  expect(entries).toMatchObject([
    { by, action: 'dead.replay', target: CRAWL, details: { code: 'server_error', count: 1 }, result: 'ok' },
    { by, action: 'link.promote', target: CRAWL, result: expect.not.stringMatching(/^ok$/) },
    { by, action: 'host.set', target: 'shop.example', details: { delayMs: 5_000 }, result: 'ok' },
  ])
  expect((await call('audit', '--limit', '1')).out).toMatch(/^when +who +action +target +details +result\n\S+ \S+ +cli/)
})
