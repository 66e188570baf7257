import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, it, vi } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

const SEEDS = 60_000
vi.setConfig({ testTimeout: 120_000 })
const dir = tempDir('seeding-kill')
afterAll(() => dir.remove())

it('goes on with a file of seeds where it was killed', async () => {
  const spider = join(dir.path, 'many.ts')
  writeFileSync(
    spider,
    `import { defineSpider } from 'shoal'
export default defineSpider({ name: 'many', start: ['https://a.example/'], scope: { hosts: ['*'] }, routes: { page: { match: '**' } } })
`,
  )
  const file = join(dir.path, 'urls.txt')
  writeFileSync(file, Array.from({ length: SEEDS }, (_, n) => `https://h${n % 997}.example/${n}\n`).join(''))
  const address = `sqlite:${join(dir.path, 'q.db')}`
  const args = ['start', spider, '--seeds', file, '--queue', address, '--json']

  const first = startCli(args, { cwd: dir.path })
  let early = 0
  for (;;) {
    await sleep(50)
    early = await queued(address)
    if (early > 3_000 || first.child.exitCode !== null) break
  }
  first.child.kill('SIGKILL')
  await first.result
  early = await queued(address)
  expect(early).toBeGreaterThan(3_000)
  expect(early).toBeLessThan(SEEDS)

  const { stdout } = await runCli(args, { cwd: dir.path })
  const told = lastJson(stdout)
  expect(told).toMatchObject({ resumed: true, seeded: true, refused: 0 })
  expect(Number(told.added)).toBe(SEEDS + 1 - early)
  // The start URL, and no more of the file than one batch: the rest of what was in was not even looked at.
  expect(Number(told.known)).toBeLessThanOrEqual(1_001)
  expect(await queued(address)).toBe(SEEDS + 1)
})

async function queued(address: string): Promise<number> {
  const backends = await openBackends({ queue: address, store: address })
  try {
    const crawl = (await backends.frontier.crawls())[0]
    return crawl === undefined ? 0 : (await backends.frontier.stats(crawl.id)).queued
  } finally {
    await backends.close()
  }
}
