import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test, vi } from 'vitest'
import { tempDir } from '../support/cli.js'
import { shoal } from './cli.js'

vi.setConfig({ testTimeout: 60_000 })
const dir = tempDir('simulate')
afterAll(() => dir.remove())
const cwd = dir.path
const BOOKS = fileURLToPath(new URL('../../examples/books.ts', import.meta.url))

test('the same command prints the same bytes', async () => {
  const args = ['simulate', '--urls', '1k', '--hosts', '20', '--workers', '2', '--runs', '1', '--json']
  const [first, second] = await Promise.all([shoal(args, { cwd }), shoal(args, { cwd })])
  expect(first.code).toBe(0)
  expect(second.out).toBe(first.out)
  expect(JSON.parse(first.out)).toMatchObject({ complete: true, workers: { mean: 2 } })
})

test('a spider needs nothing but a number of URLs', async () => {
  const { code, out } = await shoal(['simulate', BOOKS, '--urls', '500'], { cwd })
  expect(code).toBe(0)
  expect(out).toContain('500 URLs on 1 host, 1 worker')
  expect(out).toContain('ends after')
})

test('bad input is refused with what to do instead', async () => {
  writeFileSync(join(cwd, 'typo.json'), '{"urls": 100, "latency": {"meddian": "1s"}}')
  writeFileSync(join(cwd, 'broken.json'), '{"urls": ')
  writeFileSync(join(cwd, 'list.json'), '[]')
  const table: readonly [string[], string][] = [
    [['typo.json'], "did you mean 'median'?"],
    [['broken.json'], 'is not JSON'],
    [['list.json'], 'is not a JSON object'],
    [['missing.json'], 'there is no such file'],
    [['--hosts', '10', '--urls', '5'], 'raise urls, or lower hosts'],
    [['--hosts', '0'], 'Expected a whole number, 1 or more'],
    [['--urls', '-5'], 'Expected a whole number, 1 or more'],
    [['--urls', '1e20'], 'Expected a whole number, 1 or more'],
    [['--workers', 'auto'], '--workers'],
    [['--proxies', 'list.txt'], 'such as --proxies 50'],
    [['--delay', 'soon'], 'Expected a duration'],
    [['--latency', '-1s'], 'Expected a duration'],
    [['--seed', 'x'], 'Expected a whole number below'],
    [['--price-worker-hour', '-1'], 'Expected a price'],
  ]
  const results = await Promise.all(table.map(async ([args]) => await shoal(['simulate', ...args], { cwd })))
  for (const [at, { code, err }] of results.entries()) {
    expect([table[at]?.[0], code]).toEqual([table[at]?.[0], 2])
    expect(err).toContain(table[at]?.[1])
  }
})
