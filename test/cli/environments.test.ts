import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EXIT } from '../../src/errors.js'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

const dir = tempDir('environments')
const inDir = (...args: string[]) => runCli(args, { cwd: join(dir.path, 'spiders') })

beforeAll(() => {
  mkdirSync(join(dir.path, 'spiders'))
  writeFileSync(join(dir.path, 'package.json'), '{}')
  writeFileSync(
    join(dir.path, 'shoal.config.ts'),
    `import { defineConfig } from 'shoal'
     export default defineConfig({
       queue: 'sqlite:data/shoal.db',
       environments: { production: { queue: process.env.PRODUCTION_QUEUE }, test: { queue: 'sqlite:data/test.db' } },
     })`,
  )
  writeFileSync(
    join(dir.path, 'spiders', 'none.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: 'none', start: ['http://127.0.0.1:1/'], robots: false, retries: { max: 0 },
       allowPrivate: ['127.0.0.1:*'], routes: { page: { match: '**' } } })`,
  )
})
afterAll(() => dir.remove())

it('a command works with the settings of its environment, and says so', async () => {
  const started = await inDir('start', 'none.ts')
  expect(started.stderr).toContain(
    'queue sqlite:../data/shoal.db (from ../shoal.config.ts), records sqlite:../data/shoal.db (default)',
  )
  const test = await inDir('start', 'none.ts', '--env', 'test')
  expect(test.stderr).toContain('queue sqlite:../data/test.db (from test in ../shoal.config.ts)')
  // The command that is printed works when it is copied.
  expect(test.stderr).toContain('worker none.ts --env test')
  expect((await inDir('crawls', 'list', '--env', 'test', '--json')).stdout).toContain(test.stdout.trim())
  const checks = lastJson((await inDir('doctor', '--env', 'test', '--json')).stdout).checks
  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'config', detail: '../shoal.config.ts, environment test' }),
  )
})

it('an environment that is not there, or not complete, is refused before anything is opened', async () => {
  const typo = await inDir('run', 'none.ts', '--env', 'prod')
  expect([typo.code, typo.stderr]).toEqual([
    EXIT.spider.code,
    expect.stringContaining("there is no environment 'prod', did you mean 'production'?"),
  ])
  const unset = await inDir('status', '--env', 'production')
  expect(unset.stderr).toContain('../shoal.config.ts: environments.production.queue: is undefined')
})

it('neither help nor the version needs it, and a demo does not use its database', async () => {
  const broken = join(dir.path, 'spiders', 'shoal.config.ts')
  writeFileSync(broken, 'export default {')
  for (const args of [['--help'], ['run', '--help'], ['--version']]) expect((await inDir(...args)).code).toBe(0)
  expect((await inDir('status')).stderr).toMatch(/error config_invalid: shoal\.config\.ts:1:\d+/)
  writeFileSync(broken, "export default { queue: 'redis://127.0.0.1:1', store: 'postgres://127.0.0.1:1/x' }")
  const demo = await inDir('demo', '--products', '3', '--json', '--dir', 'demo')
  expect(demo.code).toBe(0)
}, 60_000)

it('a spider or config file that ends the process, or never ends itself, is an error and not a success', async () => {
  const folder = tempDir('ends')
  // In a process of its own, which is what it would end.
  const shoal = (...args: string[]) => startCli(args, { cwd: folder.path }).result
  const spider = join(folder.path, 'ends.ts')
  const config = join(folder.path, 'shoal.config.ts')
  const exits = 'process.exit(0)'
  const waits = 'await new Promise(() => {})\nexport default {}'
  for (const [text, said] of [
    [exits, /ends\.ts:1:9: .*process\.exit\(\)/],
    [waits, /ends\.ts: its top-level await never ends/],
  ] as const) {
    writeFileSync(spider, text)
    const run = await shoal('run', 'ends.ts')
    expect([run.code, run.stderr]).toEqual([EXIT.spider.code, expect.stringMatching(said)])
  }
  for (const [text, said] of [
    [exits, 'shoal.config.ts:1:9: '],
    [waits, 'shoal.config.ts: its top-level await never ends'],
    ["export default { get queue() { throw new Error('no vault') } }", 'shoal.config.ts: no vault'],
  ] as const) {
    writeFileSync(config, text)
    const status = await shoal('status')
    expect([status.code, status.stderr]).toEqual([
      EXIT.spider.code,
      expect.stringContaining(`error config_invalid: ${said}`),
    ])
  }
  folder.remove()
}, 60_000)
