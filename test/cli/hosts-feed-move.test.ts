import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { BIN, lastJson, runCli, tempDir } from '../support/cli.js'
import { CRAWL, SPEC, seedDatabase } from './seeded-database.js'

const dir = tempDir('cli-hosts')
let address = ''
const shoal = (...args: string[]) => runCli([...args, '--queue', address], { cwd: dir.path })
let number = 0

beforeEach(async () => {
  const file = join(dir.path, `shop-${++number}.db`)
  address = `sqlite:${file}`
  await seedDatabase(file)
})
afterAll(() => dir.remove())

const spider = join(dir.path, 'shop.ts')
writeFileSync(
  spider,
  `import { defineSpider } from 'shoal'
export default defineSpider({ name: 'shop', start: ['https://shop.example/'], routes: { page: { match: '**' } } })
`,
)

async function onQueue<Answer>(
  look: (backends: Awaited<ReturnType<typeof openBackends>>) => Promise<Answer>,
): Promise<Answer> {
  const backends = await openBackends({ queue: address, store: address })
  try {
    return await look(backends)
  } finally {
    await backends.close()
  }
}

describe('hosts', () => {
  it('shows pace, work and answers of each host', async () => {
    const { code, stdout } = await shoal('hosts')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^host +pending +in flight +done +failed +dead +latency +budget +pace +next slot\nshop\.example/,
    )
    expect(lastJson((await shoal('hosts', '--json')).stdout)).toMatchObject({
      crawl: CRAWL,
      host: 'shop.example',
      done: 1,
      dead: 1,
    })
    expect(await shoal('hosts', 'nothing')).toMatchObject({ code: 5 })
  })

  it('sets the pace of a host, and takes it back', async () => {
    const set = await shoal('hosts', 'set', 'https://Shop.example/x', '--delay', '5s', '--concurrency', '2')
    expect(set.stdout).toBe('shop.example: 5.0 s between requests, 2 at once (all workers, from the next request on)\n')
    expect(lastJson((await shoal('hosts', '--json')).stdout)).toMatchObject({ delayMs: 5_000, concurrency: 2 })
    expect(lastJson((await shoal('hosts', 'set', 'shop.example', '--concurrency', '3', '--json')).stdout)).toEqual({
      host: 'shop.example',
      concurrency: 3,
    })
    expect(lastJson((await shoal('hosts', '--json')).stdout)).toMatchObject({ delayMs: 5_000, concurrency: 3 })
    expect((await shoal('hosts', 'set', 'shop.example', '--reset')).stdout).toContain("back to the spider's pace")
    expect(lastJson((await shoal('hosts', '--json')).stdout).delayMs).not.toBe(5_000)
  })

  it.each([
    [['shop.example'], 'nothing to set'],
    [['shop.example', '--delay', 'soon'], 'Write a number with a unit'],
    [['shop.example', '--concurrency', '0'], 'whole number, 1 or more'],
    [['shop.example', '--reset', '--delay', '1s'], 'cannot be combined'],
    [['shop example', '--delay', '1s'], 'is not a host'],
    [['shop.example/path', '--delay', '1s'], 'is not a host'],
  ])('refuses %j', async (args, message) => {
    expect(await shoal('hosts', 'set', ...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
  })
})

describe('feed', () => {
  it('adds straight to the open crawl of an embedded queue', async () => {
    const urls = join(dir.path, 'urls.txt')
    writeFileSync(urls, '# some\nhttps://shop.example/new\n\nhttps://shop.example/done\nnonsense\n')
    const { stdout } = await shoal('feed', spider, urls, '--json')
    expect(lastJson(stdout)).toMatchObject({ spider: 'shop', crawl: CRAWL, added: 1, known: 1 })
    expect(lastJson(stdout).rejected).toMatchObject([{ entry: 'nonsense' }])
    const again = await shoal('feed', spider, urls, '--again')
    expect(again.stdout).toContain('1 URL added')
    expect(again.stderr).toContain('rejected: nonsense')
  })

  it('takes entries of other systems, and names the keys that it does not know once', async () => {
    const urls = join(dir.path, 'others.jsonl')
    const lines = [1, 2].map((n) =>
      JSON.stringify({ url: `https://shop.example/other-${n}`, attempts: n, 'max-retries': 3 }),
    )
    writeFileSync(urls, [...lines, '{"func":"f","args":["https://shop.example/rq"]}'].join('\n'))
    const { stdout, stderr } = await shoal('feed', spider, urls, '--json')
    expect(lastJson(stdout)).toMatchObject({ added: 3, rejected: [] })
    expect(stderr.match(/attempts: not a key that Shoal knows: kept in data/g)).toHaveLength(1)
    expect(stderr).toContain('max-retries: a link has no limit of its own')
    const links = await onQueue(({ frontier }) => frontier.links({ crawl: CRAWL, limit: 99 }))
    expect(links.find(({ url }) => url.endsWith('/other-2'))).toMatchObject({ data: { attempts: 2, 'max-retries': 3 } })
  })

  it('reads standard input', async () => {
    const child = spawn(process.execPath, [BIN, 'feed', spider, '-', '--json', '--queue', address], { cwd: dir.path })
    let out = ''
    child.stdout.on('data', (chunk) => {
      out += String(chunk)
    })
    child.stdin.end('https://shop.example/stdin\n{"url":"https://shop.example/json","priority":7}\n')
    await new Promise((resolve) => child.once('close', resolve))
    expect(lastJson(out)).toMatchObject({ added: 2 })
    const links = await onQueue(({ frontier }) => frontier.links({ crawl: CRAWL, limit: 99 }))
    expect(links.find(({ url }) => url.endsWith('/json'))).toMatchObject({ priority: 7 })
  })

  it('says what is missing', async () => {
    expect(await shoal('feed', 'shop', 'nowhere.txt')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('unknown on this machine'),
    })
    expect(await shoal('feed', spider, 'nowhere.txt')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no file'),
    })
    for (const flag of ['--rejected', '--refused', '--retry-rejected', '--retry-refused'])
      expect(await shoal('feed', spider, flag)).toMatchObject({ code: 2, stderr: expect.stringContaining('no feed') })
    expect(await shoal('feed', spider, '--rejected', '--retry-rejected')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cannot be combined'),
    })
  })
})

describe('move and recover', () => {
  it('takes a crawl to another queue', async () => {
    const to = `sqlite:${join(dir.path, `to-${number}.db`)}`
    expect(await shoal('move', 'shop', '--to', to)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('shoal pause'),
    })
    await onQueue(async ({ frontier, store, queueAddress }) => {
      await frontier.forfeit('w1')
      await frontier.setState(CRAWL, 'paused')
      const queueIdentity = await frontier.identity()
      await store.crawls.note({
        crawl: CRAWL,
        spider: 'shop',
        queue: queueAddress,
        queueIdentity,
        state: 'open',
        spec: SPEC,
        openedAt: 1,
      })
    })
    const { code, stdout } = await shoal('move', 'shop', '--to', to, '--json')
    expect(code).toBe(0)
    expect(lastJson(stdout)).toMatchObject({ crawl: CRAWL, pending: 4, done: 1, dead: 1, skipped: 1, to })
    expect(await onQueue(({ frontier }) => frontier.stats(CRAWL))).toMatchObject({ state: 'cancelled' })
    const there = await runCli(['status', '--json', '--queue', to, '--store', address], { cwd: dir.path })
    expect(lastJson(there.stdout)).toMatchObject({ crawl: CRAWL, state: 'running', total: 7 })
  })

  it('recovers only what is lost', async () => {
    expect(await shoal('recover', 'shop')).toMatchObject({ code: 5, stderr: expect.stringContaining('has no crawl') })
  })
})
