import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
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
