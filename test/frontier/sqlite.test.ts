import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { SqliteFrontierEngine } from '../../src/frontier/sqlite/sqlite-engine.js'
import { SqliteFrontier } from '../../src/frontier/sqlite/sqlite-frontier.js'
import { SqliteDb } from '../../src/sqlite/db.js'
import { callDirectly } from '../../src/sqlite/direct.js'
import { frontierContract } from '../contract/frontier-contract.js'
import { linkTo, type MakeFrontier, specOf } from '../contract/frontier-fixtures.js'
import { frontierInvariants } from './invariants.js'
import { frontierProperties } from './properties.js'

const onFile: MakeFrontier = async (clock) => {
  const directory = mkdtempSync(join(tmpdir(), 'shoal-frontier-'))
  const db = new SqliteDb(join(directory, 'shoal.db'))
  SqliteFrontierEngine.migrate(db)
  const frontier = new SqliteFrontier(callDirectly(db, new SqliteFrontierEngine(db, clock)), async () => {
    db.close()
    rmSync(directory, { recursive: true })
  })
  return { frontier, close: () => frontier.close() }
}

frontierContract('sqlite', onFile)
frontierProperties('sqlite', onFile, { runs: 40 })
frontierInvariants('sqlite', onFile, { runs: 20 })

it('lists the hosts of a crawl with many of them as those of a crawl with few', async () => {
  const { frontier, close } = await onFile(new ManualClock())
  await frontier.open(specOf())
  const names = Array.from({ length: 1_500 }, (_, nth) => `h${nth}.test`)
  await frontier.add('c1', [...names.map((name) => linkTo(`${name}/`)), linkTo('h77.test/2')])
  const page = async (given: Parameters<typeof frontier.hosts>[1]) =>
    (await frontier.hosts('c1', given)).map(({ host }) => host)
  const sorted = names.toSorted()
  expect(await page({ limit: 700 })).toEqual(sorted.slice(0, 700))
  expect(await page({ limit: 9_000, after: sorted[699] ?? '' })).toEqual(sorted.slice(700))
  expect(await page({ limit: 9, begins: 'h149' })).toEqual(sorted.filter((name) => name.startsWith('h149')).slice(0, 9))
  expect(await page({ limit: 9, begins: 'x' })).toEqual([])
  expect((await frontier.hosts('c1', { limit: 5, busiest: true }))[0]).toMatchObject({ host: 'h77.test', pending: 2 })
  expect(await page({ limit: 5, busiest: true })).toHaveLength(5)
  await close()
})

it('moves thousands of dead letters in several transactions, so that nobody waits for all of them', async () => {
  const db = new SqliteDb(':memory:')
  SqliteFrontierEngine.migrate(db)
  const call = callDirectly(db, new SqliteFrontierEngine(db, new ManualClock()))
  const moved: unknown[] = []
  const told: typeof call = async (method, ...args) => {
    const answer = await call(method, ...args)
    if (method === 'replay' || method === 'purge') moved.push(answer)
    return answer
  }
  const frontier = new SqliteFrontier(told, async () => db.close())
  await frontier.open(specOf())
  await frontier.setState('c1', 'paused')
  const counts = { attempts: 1, throttles: 0, reclaims: 0 }
  const failures = [{ code: 'timeout' as const, message: '', at: 1 }]
  const letters = Array.from({ length: 10_020 }, (_, nth) => linkTo(`h${nth % 2}.test/${nth}`))
  await frontier.restore(
    'c1',
    letters.map((link) => ({ link, state: 'dead', ...counts, failures })),
  )
  expect(await frontier.purge('c1', { host: 'h0.test' })).toBe(5_010)
  expect(moved).toMatchObject([{ moved: 5_000 }, { moved: 10, next: null }])
  expect(await frontier.replay('c1', { fp: letters[1]?.fp ?? '' })).toBe(1)
  expect(await frontier.replay('c1', {})).toBe(5_009)
  expect(await frontier.stats('c1')).toMatchObject({ dead: 0, skipped: 5_010, queued: 5_010 })
  await frontier.close()
})
