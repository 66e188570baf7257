import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCli, tempDir } from '../support/cli.js'

const dir = tempDir('spider-output')
let server: Server
let origin = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<h1>${request.url}</h1>${[1, 2, 3].map((n) => `<a href="/p/${n}">${n}</a>`).join('')}`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(() => {
  server.close()
  dir.remove()
})

function writeSpider(name: string, handler: string, more = ''): string {
  const file = join(dir.path, `${name}.mjs`)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     console.log('loading')
     console.error(new Error('at load').message)
     export default defineSpider({
       name: '${name}', start: ['${origin}/p/0'], robots: false, allowPrivate: ['127.0.0.1:*'], savePages: true,
       pace: { delay: '0s', concurrency: 4 }, records: { page: {} }, ${more}
       routes: { page: { match: '/p/*', follow: [{ links: 'a' }], async handler(page, out) {
         out.record('page', page.url, { title: page.$('h1').text() })
         ${handler}
       } } },
     })`,
  )
  return file
}

interface Line {
  readonly event: string
  readonly level: string
  readonly message: string
  readonly route?: string
  readonly url?: string
  readonly dropped?: number
}

async function run(...args: string[]) {
  const { code, stdout, stderr } = await startCli(args, { cwd: dir.path }).result
  const lines = stderr.split('\n').filter((line) => line.startsWith('{'))
  const parsed = lines.map((line) => JSON.parse(line) as Line)
  const output = parsed.filter(({ event }) => event === 'spider.output' || event === 'page.log')
  return { code, stdout, stderr, output, messages: output.map(({ message }) => message) }
}

/** Everything that prints. */
const NOISY = `
  console.log('way log', { depth: page.depth })
  console.info('way info'); console.debug('way debug'); console.warn('way warn'); console.error('way error')
  console.table([{ way: 'table' }]); console.dir({ way: 'dir' }); console.group('way group'); console.log('way grouped')
  console.groupEnd(); console.time('way time'); console.timeEnd('way time'); console.count('way count')
  console.assert(false, 'way assert'); console.trace('way trace')
  process.stdout.write('way stdout without a line feed'); process.stderr.write('way stderr\\n')
  process.stdout.write(Buffer.from('way binary \\xff\\n', 'latin1')); process.stdout.write('7761792068657820\\n'.trim(), 'hex')
  process.stdout.end('way end\\n'); process.stdout.destroy()
  console.log('\\x1b[2J\\x1b]0;title\\x07way \\x1b[31mescape\\x1b[39m')
  page.log('way page.log')
  setTimeout(() => console.log('way late'), 5)
  await new Promise((resolve) => setTimeout(resolve, 20))
  console.log('way after await')`

describe('what spider code prints', () => {
  it.each([['sqlite:noisy.db'], ['memory:']])('never reaches standard output of run --json on %s', async (queue) => {
    const spider = writeSpider('noisy', NOISY)
    const { code, stdout, stderr, output } = await run('run', spider, '--json', '--queue', queue)
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({ pages: 4, records: 4 })
    expect(stderr).not.toContain('\x1b')
    const found = (text: string) => output.filter(({ message }) => message.includes(text))
    // Each page once, but the file is loaded in two threads and shown for one.
    expect(found('loading')).toHaveLength(1)
    expect(found('at load')).toMatchObject([{ level: 'error' }])
    for (const way of [
      ...['log', 'info', 'debug', 'warn', 'error', 'group', 'grouped', 'time', 'count', 'assert', 'trace', 'stdout'],
      ...['stderr', 'binary', 'end', 'escape', 'page.log', 'late', 'after await'],
    ])
      expect({ way, pages: found(`way ${way}`).length >= 4 }).toEqual({ way, pages: true })
    expect(found('hex').length + found("way: 'dir'").length).toBeGreaterThanOrEqual(8)
    expect(found('way log')).toEqual(
      [0, 1, 2, 3].map((n) =>
        expect.objectContaining({ level: 'info', route: 'page', url: expect.stringMatching(`/p/${n}$|/p/\\d$`) }),
      ),
    )
    expect(new Set(found('way log').map(({ url }) => url)).size).toBe(4)
    expect(found('way warn')[0]).toMatchObject({ level: 'warn' })
    expect(found('way error')[0]).toMatchObject({ level: 'error' })
    expect(found('way page.log')[0]).toMatchObject({ event: 'page.log', level: 'info', route: 'page' })
    // Once something was printed after an await, pages are followed.
    expect(found('way after await').at(-1)?.url).toMatch(/\/p\/\d$/)
  })

  it('goes through the parent of worker processes, and not into their results', async () => {
    const spider = writeSpider('forked', `console.log('forked', page.url)`)
    const { code, stdout, messages } = await run(
      'run',
      spider,
      '--json',
      '--workers',
      '2',
      '--queue',
      'sqlite:forked.db',
    )
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(messages.filter((message) => message.startsWith('forked'))).toHaveLength(4)
    expect(messages.filter((message) => message === 'loading')).toHaveLength(1)
  })

  it('stays out of the results of reparse, start and try', async () => {
    const spider = writeSpider('quiet', `console.log('handled', page.url)`)
    await run('run', spider, '--json', '--queue', 'sqlite:quiet.db')
    const [reparsed, started, tried] = await Promise.all([
      run('reparse', spider, '--json', '--dry-run', '--queue', 'sqlite:quiet.db'),
      run('start', spider, '--json', '--queue', 'sqlite:started.db'),
      run('try', spider, `${origin}/p/1`, '--json'),
    ])
    expect(JSON.parse(reparsed.stdout)).toMatchObject({ pages: 4 })
    expect(reparsed.messages.filter((message) => message === 'loading')).toHaveLength(1)
    expect(reparsed.output.filter(({ message }) => message.startsWith('handled'))).toEqual(
      [0, 1, 2, 3].map(() => expect.objectContaining({ route: 'page', url: expect.stringContaining('/p/') })),
    )
    expect(JSON.parse(started.stdout)).toMatchObject({ spider: 'quiet' })
    expect(started.messages).toEqual(['loading', 'at load'])
    expect(JSON.parse(tried.stdout)).toMatchObject({ status: 200 })
  })

  it('is bounded: neither 50,000 lines nor 10 MB at once fill the log', async () => {
    const spider = writeSpider(
      'loud',
      `for (let n = 0; n < 50_000; n++) console.log('line', n)
       console.log('x'.repeat(10_000_000))
       for (let n = 0; n < 1_000; n++) page.log(n)`,
      'scope: { maxDepth: 0 },',
    )
    const { code, stderr, output } = await run('run', spider, '--json', '--queue', 'sqlite:loud.db')
    expect(code).toBe(0)
    expect(stderr.length).toBeLessThan(3_000_000)
    const dropped = output.reduce((sum, line) => sum + (line.dropped ?? 0), 0)
    expect(dropped + output.filter((line) => line.dropped === undefined).length).toBe(50_000 + 1 + 1_000 + 2)
  })

  it('is printed by default, with error only what is one, and not at all with silent', async () => {
    const spider = writeSpider('levels', `console.log('plain'); console.error('wrong')`, 'scope: { maxDepth: 0 },')
    const at = async (...level: string[]) =>
      (await run('run', spider, '--json', '--queue', `sqlite:levels${level.at(-1)}.db`, ...level)).messages
    expect(await at()).toEqual(['loading', 'at load', 'plain', 'wrong'])
    expect(await at('--log-level', 'error')).toEqual(['at load', 'wrong'])
    expect(await at('--log-level', 'silent')).toEqual([])
  })

  it('does not show the value of a secret that a site echoes', async () => {
    process.env.SHOP_TOKEN = 'hunter2-canary'
    const spider = writeSpider(
      'echo',
      `console.log('echoed hunter2-canary'); page.log('echoed hunter2-canary, http://user:pass@shop.example/')`,
      `scope: { maxDepth: 0 }, secrets: { token: { env: 'SHOP_TOKEN', origins: ['${origin}'] } },`,
    )
    const { stderr, messages } = await run('run', spider, '--json', '--queue', 'sqlite:echo.db')
    delete process.env.SHOP_TOKEN
    expect(messages).toContain('echoed ***')
    expect(messages).toContain('echoed ***, http://shop.example/')
    expect(stderr).not.toContain('hunter2')
  })
})

describe("Shoal's own commands", () => {
  it('write to the streams that spider code cannot reach', () => {
    const cli = fileURLToPath(new URL('../../src/cli/', import.meta.url))
    const files = readdirSync(cli, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
    const wrong = files.filter((file) =>
      /process\.std(?:out|err)|console\./.test(readFileSync(join(cli, file), 'utf8')),
    )
    expect(wrong).toEqual([])
  })
})
