import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { turnJson } from '../../src/cli/commands/schedule.js'
import { runCli, tempDir } from '../support/cli.js'

const dir = tempDir('schedule-cli')
afterAll(() => dir.remove())

function spider(name: string, more: string): string {
  const text = `import { defineSpider } from 'shoal'
    export default defineSpider({ name: '${name}', start: ['https://a.example/'], routes: { page: { match: '**' } }, ${more} })`
  writeFileSync(join(dir.path, `${name}.ts`), text)
  return `${name}.ts`
}
const shoal = (...args: string[]) => runCli(args, { cwd: dir.path })

it('tells in one line what is wrong with a schedule', async () => {
  const [without, broken, both] = await Promise.all([
    shoal('schedule', 'run', spider('plain', '')),
    shoal('schedule', 'run', spider('broken', `schedule: '99 * * * *'`)),
    shoal('worker', spider('often', `schedule: '@hourly'`), '--schedule', '--exit-when-idle'),
  ])
  expect(without).toMatchObject({ code: 3, stderr: expect.stringContaining("the spider 'plain' has no schedule") })
  expect(broken).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('schedule.cron: Invalid value for minute: 99'),
  })
  expect(both.stderr).toContain('error usage')
  expect(without.stderr.trim().split('\n').length).toBeLessThanOrEqual(2)
})

it('gives times in one form', () => {
  const note = { turn: 0, outcome: 'started', crawl: 'c', why: null, missed: 0, by: 'one', at: 1_000 } as const
  expect(turnJson({ kind: 'decided', note })).toEqual({
    ...note,
    turn: '1970-01-01T00:00:00.000Z',
    at: '1970-01-01T00:00:01.000Z',
  })
  expect(turnJson({ kind: 'waiting', turn: 0, crawl: 'c' })).toMatchObject({ turn: '1970-01-01T00:00:00.000Z' })
})
