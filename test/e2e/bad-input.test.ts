import { type ChildProcess, execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { BIN, type CliResult, lastJson, runCli, startCli, tempDir } from '../support/cli.js'

/**
 * What a user or a site can do wrong, through the built command line: one line with a code, one with the next step, the documented exit
 * code, and never a stack trace.
 */
vi.setConfig({ testTimeout: 90_000 })
const dir = tempDir('bad-input')
const running = new Set<ChildProcess>()
const start = (...args: string[]) => {
  const run = startCli(args, { cwd: dir.path })
  running.add(run.child)
  run.child.once('close', () => running.delete(run.child))
  return run
}
const inDir = (...args: string[]) => runCli(args, { cwd: dir.path })
const inSmallHeap = (...args: string[]) =>
  runCli(args, { cwd: dir.path, env: { NODE_OPTIONS: '--max-old-space-size=200' } })
const file = (name: string) => join(dir.path, name)

let site: BadServer
/** Nobody may ever connect to it: it is on no allow list. */
let tripwire: BadServer

beforeAll(async () => {
  tripwire = await startBadServer()
  site = await startBadServer({ otherwise: misbehave })
  spider('fine', onSite('/ok'))
})

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await site.close()
  await tripwire.close()
  dir.remove()
})

function misbehave(socket: Socket, path: string): void {
  const moved = (to: string) => void socket.write(`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`)
  const page = (html: string) =>
    void socket.write(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: ${html.length}\r\n\r\n${html}`)
  if (path === '/loop-a') moved('/loop-b')
  else if (path === '/loop-b') moved('/loop-a')
  else if (path.startsWith('/chain/')) moved(`/chain/${Number(path.slice(7)) + 1}`)
  else if (path === '/to-file') moved('file:///etc/passwd')
  else if (path === '/to-private') moved(`${tripwire.origin}/ok`)
  else if (path === '/to-metadata') moved('http://169.254.169.254/latest/meta-data/')
  else if (path === '/to-nonsense') moved('http://[')
  else if (path === '/to-megabyte') moved(`/${'x'.repeat(10_000)}`)
  else if (path === '/links-megabyte')
    page(`<a href="/${'x'.repeat(1 << 20)}">long</a> <a href="/ok">short</a> <a href="http://[">broken</a>`)
  else if (path === '/robots.txt') socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n')
  else if (path === '/drip') {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
    const timer = setInterval(() => socket.write('a'), 1_000)
    socket.on('close', () => clearInterval(timer))
  } else page('<h1>fine</h1>')
}

/** `definition` is what stands in the file, between the name and the routes. */
function spider(name: string, definition: string, route = ''): string {
  writeFileSync(
    file(`${name}.ts`),
    `import { defineSpider } from 'shoal'
     export default defineSpider({ name: '${name}', ${definition} routes: { page: { match: '/**', ${route} } } })`,
  )
  return `${name}.ts`
}

const SLOW = new Set(['/drip', '/silent'])

/** On the bad site, and quick. */
const onSite = (path: string, more = '') =>
  `start: ['${site.origin}${path}'], allowPrivate: ['127.0.0.1:${site.port}'], scope: { hosts: ['127.0.0.1', '169.254.169.254'] },
   pace: { delay: 0 }, retries: { max: 1, backoff: ['10ms'] }, fetch: { timeout: '${SLOW.has(path) ? '1500ms' : '20s'}' }, ${more}`

function tellsOneLine({ code, stdout, stderr }: CliResult, errorCode: string, exit: number, says?: string): void {
  const [line = '', hint = '', ...rest] = stderr.trimEnd().split('\n')
  expect({ code, line, rest, stdout }).toEqual({
    code: exit,
    line: expect.stringMatching(new RegExp(`^error ${errorCode}: \\S`)),
    rest: [],
    stdout: '',
  })
  expect(hint).toMatch(/^ {2}→ \S/)
  expect(line.length).toBeLessThan(500)
  if (says !== undefined) expect(line).toContain(says)
}

function noStack(text: string): void {
  expect(text).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m)
}

describe('the spider file', () => {
  const home = `start: ['http://a.example/'],`
  it.concurrent.each<[what: string, text: () => string, code: string, exit: number, says: string]>([
    ['is missing', () => 'nowhere.ts', 'spider_missing', 3, 'nowhere.ts: there is no such file'],
    ['is a folder', () => '.', 'spider_missing', 3, 'is a folder'],
    ['has a syntax error', () => raw('syntax.ts', 'export default {\n  name: \n}'), 'spider_syntax', 3, 'syntax.ts:3:'],
    ['throws', () => raw('throws.ts', "throw new Error('first line\\nsecond')"), 'spider_syntax', 3, 'first line'],
    ['imports nothing there', () => raw('imports.ts', "import './gone.js'"), 'spider_syntax', 3, 'gone.js'],
    ['exports no spider', () => raw('empty.ts', ''), 'spider_invalid', 3, 'default export'],
    [
      'has a wrong value',
      () => spider('wrong', `${home} pace: { concurrency: 'many' },`),
      'spider_invalid',
      3,
      'pace.concurrency',
    ],
    [
      'has an unknown option',
      () => spider('unknown', `${home} robot: true,`),
      'spider_invalid',
      3,
      "unknown option 'robot'",
    ],
    [
      'has a duration in parsecs',
      () => spider('parsecs', `${home} pace: { delay: '5 parsecs' },`),
      'bad_duration',
      3,
      "pace.delay: '5 parsecs'",
    ],
    [
      'has a selector that is none',
      () => spider('selector', home, "follow: [{ links: 'a[' }]"),
      'bad_selector',
      3,
      'follow',
    ],
    ['starts from what is no URL', () => spider('no-url', "start: ['not a url'],"), 'bad_url', 2, 'not a url'],
    [
      'starts from a file',
      () => spider('file-url', "start: ['file:///etc/passwd'],"),
      'bad_scheme',
      2,
      'file:///etc/passwd',
    ],
    [
      'starts out of scope',
      () => spider('scope', `${home} scope: { hosts: ['b.example'] },`),
      'out_of_scope',
      2,
      'http://a.example/',
    ],
    [
      'starts from a megabyte',
      () => spider('long', "start: ['http://a.example/' + 'x'.repeat(1 << 20)],"),
      'url_too_long',
      2,
      'scope.maxUrlLength (2048)',
    ],
  ])('%s', async (_, name, code, exit, says) => {
    const result = await inDir('run', name())
    tellsOneLine(result, code, exit, says)
  })

  it('has its error as JSON for a program', async () => {
    const { code, stdout, stderr } = await inDir('run', 'nowhere.ts', '--json')
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(lastJson(stderr)).toMatchObject({ error: { code: 'spider_missing', hint: expect.stringMatching(/./) } })
  })

  it('leaves nothing behind when it is wrong', () => {
    expect(existsSync(file('.shoal'))).toBe(false)
  })

  function raw(name: string, text: string): string {
    writeFileSync(file(name), text)
    return name
  }
})

describe('the command line', () => {
  it.concurrent.each<[args: string[], code: string, exit: number, says: string]>([
    [['rnu', 'fine.ts'], 'usage', 2, "unknown command 'rnu', did you mean run?"],
    [['run', 'fine.ts', '--concurency', '3'], 'usage', 2, 'did you mean --concurrency?'],
    [['run'], 'usage', 2, 'spider'],
    [['run', 'fine.ts', '--workers', '0'], 'usage', 2, '--workers'],
    [['run', 'fine.ts', '--concurrency', 'banana'], 'usage', 2, 'banana'],
    [['run', 'fine.ts', '--grace', '5 parsecs'], 'bad_duration', 3, "--grace: '5 parsecs'"],
    [['run', 'fine.ts', '--queue', 'amqp://me:secret@x'], 'queue_unknown', 2, 'amqp://x'],
    [['run', 'fine.ts', '--queue', 'redis://me:secret@127.0.0.1:1'], 'queue_unreachable', 4, '127.0.0.1:1'],
    [['run', 'fine.ts', '--queue', 'nonsense'], 'queue_unknown', 2, 'nonsense'],
    [['crawl', 'nonsense'], 'bad_url', 2, 'nonsense'],
    [['crawl', 'file:///etc/passwd'], 'bad_scheme', 2, 'file:///etc/passwd'],
    [['crawl', 'http://a.example/', '--delay', '5 parsecs'], 'bad_duration', 3, '5 parsecs'],
    // Linux takes at most 128 KiB in one argument.
    [['crawl', 'http://a.example/LONG'], 'url_too_long', 2, '130017 characters'],
    [['explain', 'nonsense'], 'not_found', 5, 'no database at'],
  ])('%j', async (args, code, exit, says) => {
    const result = await inDir(...args.map((arg) => arg.replace('LONG', 'x'.repeat(130_000))))
    tellsOneLine(result, code, exit, says)
    expect(result.stderr).not.toContain('secret')
  })
})

describe('the database file', () => {
  beforeAll(() => {
    writeFileSync(file('a-file'), 'x')
    mkdirSync(file('a-folder'), { recursive: true })
  })
  it.concurrent.each([
    ['below a file', 'a-file/shoal.db'],
    ['that is a folder', 'a-folder'],
    ['where nobody can make folders', '/proc/x/y.db'],
    ['where nobody can make files', '/proc/y.db'],
  ])('%s cannot be written', async (_, path) => {
    tellsOneLine(await inDir('run', 'fine.ts', '--queue', `sqlite:${path}`), 'db_unwritable', 4, path)
  })

  it.concurrent.each([1, 22, 5_000])('of %i bytes that are no database is left as it is', async (size) => {
    const text = 'this is no database at all; '.repeat(200).slice(0, size)
    const name = `garbage-${size}.db`
    writeFileSync(file(name), text)
    for (const args of [['run', 'fine.ts'], ['status']])
      tellsOneLine(await inDir(...args, '--queue', `sqlite:${name}`), 'db_corrupt', 4, name)
    expect(readFileSync(file(name), 'utf8')).toBe(text)
  })

  it('with a hole in it is told of, whatever the command', async () => {
    expect((await inDir('run', 'fine.ts', '--queue', 'sqlite:holed.db')).code).toBe(0)
    const bytes = readFileSync(file('holed.db'))
    writeFileSync(file('holed.db'), bytes.fill(0xa5, 4_096))
    for (const args of [['run', 'fine.ts'], ['status'], ['export']])
      tellsOneLine(await inDir(...args, '--queue', 'sqlite:holed.db'), 'db_corrupt', 4, 'holed.db')
    const doctor = await inDir('doctor', '--queue', 'sqlite:holed.db')
    expect(doctor.code).toBe(4)
    expect(doctor.stdout).toMatch(/fail +database/)
    noStack(doctor.stdout + doctor.stderr)
  })
})

/** One bad page after the other: alone with `try`, then all of them in one crawl. */
describe('a page', () => {
  const BAD: Record<string, string> = {
    '/gzip-bomb': 'too_large',
    '/brotli-bomb': 'too_large',
    '/endless-chunks': 'too_large',
    '/drip': 'timeout',
    '/silent': 'timeout',
    '/loop-a': 'too_many_redirects',
    '/chain/0': 'too_many_redirects',
    '/to-file': 'bad_redirect',
    '/to-nonsense': 'bad_redirect',
    '/to-megabyte': 'bad_redirect',
    '/to-private': 'private_address',
    '/to-metadata': 'private_address',
  }

  it.concurrent.each(Object.entries(BAD))('%s ends `try` with %s', async (path, code) => {
    const name = spider(`try${path.replaceAll('/', '-')}`, onSite(path))
    const result = await inDir('try', name, `${site.origin}${path}`)
    tellsOneLine(result, code, 6)
    expect(tripwire.connections()).toBe(0)
  })

  it('of each kind becomes a dead letter with its code, and a crawl of nothing else exits with 6', async () => {
    const others = Object.keys(BAD).map((path) => `'${site.origin}${path}'`)
    const name = spider('all-bad', onSite('/drip').replace(/start: \[.*?\]/, `start: [${others}]`))
    const { code, stdout, stderr } = await inDir('run', name, '--queue', 'sqlite:all-bad.db')
    expect(code).toBe(6)
    expect(stdout).toContain('Finished without fetching a page')
    noStack(stdout + stderr)
    expect(await deadCodes('all-bad.db')).toEqual(BAD)
    expect(tripwire.connections()).toBe(0)
    expect((await inDir('dead', 'list', '--queue', 'sqlite:all-bad.db')).stdout).toMatch(/too_large[\s\S]*bad_redirect/)
  })

  it('that redirects out of the hosts `crawl` was given is not followed', async () => {
    const urls = ['/to-private', '/to-file', '/gzip-bomb', '/loop-a'].map((path) => `${site.origin}${path}`)
    const flags = ['--allow-private', `127.0.0.1:${site.port}`, '--delay', '1ms', '--queue', 'sqlite:crawl.db']
    const { code, stdout, stderr } = await inDir('crawl', ...urls, ...flags)
    expect(code).toBe(6)
    noStack(stdout + stderr)
    expect(await deadCodes('crawl.db')).toEqual({
      '/to-private': 'bad_redirect',
      '/to-file': 'bad_redirect',
      '/gzip-bomb': 'too_large',
      '/loop-a': 'too_many_redirects',
    })
    expect(tripwire.connections()).toBe(0)
  })

  it('at a private address is dead without a connection', async () => {
    const { code } = await inDir('crawl', `${tripwire.origin}/ok`, '--queue', 'sqlite:private.db')
    expect(code).toBe(6)
    expect(await deadCodes('private.db')).toEqual({ '/ok': 'private_address' })
    expect(tripwire.connections()).toBe(0)
  })

  it('with a link of a megabyte gives its other links', async () => {
    const name = spider('megabyte-link', onSite('/links-megabyte'), "follow: [{ links: 'a' }]")
    const tried = await inDir('try', name, `${site.origin}/links-megabyte`)
    expect(tried.code).toBe(0)
    expect(tried.stdout).toMatch(/2 links rejected[\s\S]*url_too_long[\s\S]*bad_url/)
    expect(tried.stdout.length).toBeLessThan(10_000)
    const { code, stdout } = await inDir('run', name, '--json', '--queue', 'sqlite:megabyte.db')
    expect(code).toBe(0)
    expect(lastJson(stdout)).toMatchObject({ state: 'finished', pages: 2, dead: 0 })
  })
})

async function deadCodes(database: string): Promise<Record<string, string>> {
  const { stdout } = await inDir('dead', 'list', '--json', '--queue', `sqlite:${database}`)
  const links = stdout
    .trimEnd()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { url: string; failures: { code: string }[] })
  return Object.fromEntries(links.map(({ url, failures }) => [new URL(url).pathname, failures.at(-1)?.code ?? '']))
}

const HANDLER = 'handler_error'

describe('a handler', () => {
  const slip = (body: string) =>
    `handlerTimeout: '300ms', async handler(page, out) { if (page.url.endsWith('/slip')) { ${body} } }`

  it.concurrent.each<[what: string, body: string, failure: [code: string, message: string]]>([
    [
      'throws from a timer',
      "setTimeout(() => { throw new Error('stray') }); await new Promise(() => {})",
      [HANDLER, 'in a callback that the handler did not wait for: Error: stray'],
    ],
    [
      'forgets a promise that rejects',
      "Promise.reject(new Error('stray'))",
      [HANDLER, 'in a callback that the handler did not wait for: Error: stray'],
    ],
    [
      'never ends',
      'while (true) {}',
      [
        'poison',
        'the handler blocked its thread for 5 s, longer than handlerTimeout: does it never end? (its worker ended 3 times)',
      ],
    ],
    [
      'ends its process',
      'process.exit(7)',
      [HANDLER, 'the spider called process.exit(): return from the handler, or throw an error'],
    ],
    [
      'needs more memory than there is',
      'const all: unknown[] = []; for (;;) all.push(new Array(1e6).fill(all.length + 0.5))',
      ['poison', 'the handler ran out of memory: the heap of its thread is full (its worker ended 3 times)'],
    ],
    ['waits for ever', 'await new Promise(() => {})', ['handler_timeout', 'the handler of route page took longer']],
    ['throws', "throw new Error('plain')", [HANDLER, 'Error: plain']],
    ['gives a link a bigint', "out.follow('/b', { data: { n: 10n } })", [HANDLER, 'out.follow: the data of a link']],
    ['gives a link a function', "out.follow('/b', { data: { f() {} } })", [HANDLER, 'out.follow: the data of a link']],
  ])('that %s takes no other page with it, and is named with its place', async (what, body, [code, message]) => {
    const id = what.replaceAll(' ', '-')
    const [heap, hasPlace] = [what.includes('memory'), !/memory|waits/.test(what)]
    const fine = ['a', 'b', 'c'].map((path) => `'${site.origin}/${path}'`)
    const name = spider(
      id,
      onSite('/slip').replace("/slip'", `/slip', ${fine}`),
      heap ? slip(body).replace('300ms', '60s') : slip(body),
    )
    const run = await (heap ? inSmallHeap : inDir)('run', name, '--json', '--queue', `sqlite:${id}.db`)
    expect(run.code).toBe(0)
    expect(lastJson(run.stdout)).toMatchObject({ state: 'finished', pages: 3, dead: 1 })
    noStack(run.stderr)
    expect(await deadCodes(`${id}.db`)).toEqual({ '/slip': code })
    const { failures } = lastJson((await inDir('dead', 'list', '--json', '--queue', `sqlite:${id}.db`)).stdout) as {
      failures: { message: string }[]
    }
    const text = failures.at(-1)?.message ?? ''
    expect(text).toContain(message)
    if (hasPlace) expect(text).toMatch(new RegExp(`^${id}\\.ts:\\d+:\\d+: `))
  })

  it.concurrent('that ends its process is named in the summary of a queue in memory, with the other errors', async () => {
    const starts = ['/a', '/slip', '/throws'].map((path) => `'${site.origin}${path}'`)
    const name = spider(
      'in-memory',
      onSite('/slip').replace(/start: \[.*?\]/, `start: [${starts}]`),
      `handler(page) { if (page.url.endsWith('/slip')) process.exit(7)
         if (page.url.endsWith('/throws')) throw new Error('plain') }`,
    )
    const run = await inDir('run', name, '--json', '--queue', 'memory:')
    expect(run.code).toBe(0)
    expect(lastJson(run.stdout)).toMatchObject({ state: 'finished', pages: 1, dead: 2 })
    const [{ code, count, examples } = { code: '', count: 0, examples: [] }] = lastJson(run.stdout).deadLetters as {
      code: string
      count: number
      examples: { message: string }[]
    }[]
    expect([code, count]).toEqual([HANDLER, 2])
    expect(examples.map(({ message }) => message).sort()).toEqual([
      expect.stringMatching(/^in-memory\.ts:3:\d+: the spider called process\.exit\(\)/),
      expect.stringMatching(/^in-memory\.ts:4:\d+: Error: plain$/),
    ])
    const { stdout } = await inDir('run', name, '--queue', 'memory:')
    expect(stdout).toMatch(/2 {2}dead letters: handler_error × 2\n[\s\S]*in-memory\.ts:4:\d+: Error: plain\n/)
  })

  /** Each on a page of its own, all in one crawl. The first error that no catch can reach costs a thread; from then on each finds its page. */
  it.concurrent('that throws where no catch can reach it is an error of its page, whatever it throws', async () => {
    const module = (name: string) => `process.getBuiltinModule('node:${name}')`
    const revoked = '(({ proxy, revoke }) => (revoke(), proxy))(Proxy.revocable({}, {}))'
    const pages: Record<string, string> = {
      '/timer-null': 'setTimeout(() => { throw null }); await forever',
      '/timer-symbol': "setTimeout(() => { throw Symbol('s') }); await forever",
      '/timer-proxy': `setTimeout(() => { throw ${revoked} })`,
      '/timer-long': "setTimeout(() => { throw 'x'.repeat(1e7) })",
      '/timer-getter': 'setTimeout(() => { throw { get message() { throw 1 }, toString() { throw 2 } } })',
      '/immediate': 'setImmediate(() => { throw undefined }); await forever',
      '/tick': "process.nextTick(() => { throw new TypeError('late') })",
      '/promise-null': 'Promise.reject(null)',
      '/promise-error': "void (async () => { throw Object.freeze(new Error('frozen')) })()",
      '/event': `setImmediate(() => new (${module('events')})().emit('error', null)); await forever`,
      '/stream': `new (${module('stream')}).Readable({ read() { this.destroy(new Error('read')) } }).resume(); await forever`,
      '/socket': `${module('net')}.connect(1, '127.0.0.1'); await forever`,
      '/thread': `new (${module('worker_threads')}).Worker('throw null', { eval: true }); await forever`,
      '/exit': 'process.exit(7)',
      '/exit-later': 'setTimeout(() => process.exit(7)); await forever',
      '/kill': 'process.kill(process.pid)',
      '/on-exit': "process.on('exit', () => { throw null }); throw null",
    }
    const starts = ['/fine', ...Object.keys(pages)].map((path) => `'${site.origin}${path}'`)
    const cases = Object.entries(pages).map(([path, body]) => `case '${path}': { ${body}; return }`)
    const name = spider(
      'strays',
      onSite('/x').replace(/start: \[.*?\]/, `start: [${starts}]`),
      `handlerTimeout: '60s', async handler({ url }) {
         const forever = new Promise(() => {})
         switch (new URL(url).pathname) { ${cases.join('\n')} }
       }`,
    )
    const run = await inDir('run', name, '--json', '--queue', 'sqlite:strays.db')
    expect(run.code).toBe(0)
    noStack(run.stderr)
    const expected = Object.fromEntries(Object.keys(pages).map((path) => [path, HANDLER]))
    expect(await deadCodes('strays.db')).toEqual(expected)
    expect(lastJson(run.stdout)).toMatchObject({ state: 'finished', pages: 1, dead: Object.keys(pages).length })
  })

  it.concurrent.each([
    ['a queue in memory', 'memory:'],
    ['a queue in a file', 'sqlite:main-thread.db'],
  ])('and seeds that throw where no catch can reach them do not end a command with %s', async (_what, queue) => {
    const pages = ['a', 'b', 'c'].map((path) => `'${site.origin}/${path}'`)
    const seeds = `async *seeds() { setTimeout(() => { throw null }); yield* [${pages}]
      await new Promise((resolve) => setTimeout(resolve, 100)) },`
    const name = spider(
      `main-thread-${queue.split(':')[0]}`,
      onSite('/slip', seeds),
      slip('setTimeout(() => { throw null }); await new Promise(() => {})').replace('300ms', '60s'),
    )
    const run = await inDir('run', name, '--json', '--queue', queue)
    expect(run.code).toBe(0)
    expect(lastJson(run.stdout)).toMatchObject({ state: 'finished', pages: 3, dead: 1 })
    expect(run.stderr).toMatch(/"event":"spider.uncaught","message":"null"/)
    noStack(run.stderr)
  })

  it.concurrent('whose records are not JSON has those set aside, and its others stored', async () => {
    const records = `const self = {}; self.self = self
      out.record('item', 'bigint', { n: 10n }); out.record('item', 'circle', self); out.record('item', 'function', { f() {} })
      out.record('item', 'throws', { toJSON() { throw new Error('no') } }); out.record('item', 'fine', { n: 1 })`
    const name = spider('odd-records', onSite('/slip', 'records: { item: {} },'), slip(records))
    const run = await inDir(
      'run',
      name,
      '--json',
      '--queue',
      'sqlite:odd-records.db',
      '--store',
      'sqlite:odd-records.db',
    )
    expect(run.code).toBe(0)
    expect(lastJson(run.stdout)).toMatchObject({ state: 'finished', pages: 1, dead: 0, records: 1, rejected: 4 })
    noStack(run.stderr)
    const tried = await inDir('try', name, `${site.origin}/slip`, '--json')
    expect(tried).toMatchObject({ code: 0, stderr: '' })
    expect(lastJson(tried.stdout).rejected).toMatchObject([
      { key: 'bigint', issues: [{ field: 'n' }] },
      { key: 'circle' },
      { key: 'function', issues: [{ field: 'f' }] },
      { key: 'throws' },
    ])
  })

  it.concurrent.each([
    [
      'throws from a timer',
      "setTimeout(() => { throw new Error('stray') }); await new Promise(() => {})",
      'handler_error',
      3,
    ],
    ['throws null from a timer', 'setTimeout(() => { throw null }); await new Promise(() => {})', 'handler_error', 3],
    ['waits for ever', 'await new Promise(() => {})', 'handler_timeout', 3],
    ['throws', "throw new Error('plain')", 'handler_error', 3],
  ])('that %s is told of by `try`', async (what, body, code, exit) => {
    const name = spider(`try-${what.replaceAll(' ', '-')}`, onSite('/slip'), slip(body))
    const { stdout, ...rest } = await inDir('try', name, `${site.origin}/slip`)
    // The page itself was fetched, and is shown.
    expect(stdout).toContain(`200  ${site.origin}/slip`)
    tellsOneLine({ ...rest, stdout: '' }, code, exit)
  })
})

describe('Ctrl-C', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('while another process holds the database: %s exits with %i at once', async (signal, exit) => {
    expect((await inDir('run', 'fine.ts', '--queue', 'sqlite:held.db')).code).toBe(0)
    const holder = new DatabaseSync(file('held.db'))
    holder.exec('BEGIN IMMEDIATE')
    try {
      const run = start('run', 'fine.ts', '--queue', 'sqlite:held.db')
      await vi.waitFor(() => expect(openFiles(run.child)).toContain(file('held.db')), { timeout: 60_000 })
      run.child.kill(signal)
      const { code, stderr } = await run.result
      expect(code).toBe(exit)
      expect(stderr).toMatch(/^stopping; .*\nerror interrupted: .*\n {2}→ .*\n$/)
    } finally {
      holder.exec('ROLLBACK')
      holder.close()
    }
  })

  /** The command listens for signals before it opens the database. */
  function openFiles(child: ChildProcess): string[] {
    const files = `/proc/${child.pid}/fd`
    return readdirSync(files).map((fd) => readlinkSync(join(files, fd)))
  }

  it('while the spider file loads ends the command', async () => {
    writeFileSync(
      file('slow-file.ts'),
      'console.error("loading"); await new Promise((resolve) => setTimeout(resolve, 60_000))',
    )
    const run = start('run', 'slow-file.ts', '--queue', 'sqlite:slow-file.db')
    await new Promise((resolve) => run.child.stderr?.once('data', resolve))
    run.child.kill('SIGINT')
    const { code, stderr } = await run.result
    expect(code).toBe(130)
    expect(stderr).toContain('error interrupted: ')
  })
})

/** A file system of a few megabytes, in a namespace of its own: it is gone when the command has ended, however it ends. */
const IN_NAMESPACE = ['-rm', 'sh', '-c']
const canMount = (() => {
  try {
    execFileSync('unshare', [...IN_NAMESPACE, 'mount -t tmpfs tmpfs /mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

describe.skipIf(!canMount)('a full disk', () => {
  const PAGES = 300

  function onSmallDisk(script: string): Promise<string> {
    mkdirSync(file('disk'), { recursive: true })
    return new Promise((resolve, reject) => {
      execFile(
        'unshare',
        [
          ...IN_NAMESPACE,
          `mount -t tmpfs -o size=64m tmpfs disk && shoal() { '${process.execPath}' '${BIN}' "$@"; }\n${script}`,
        ],
        { cwd: dir.path, timeout: 60_000, env: { ...process.env, NO_COLOR: '1' } },
        (error, out) => (error === null ? resolve(out) : reject(error)),
      )
    })
  }
  const report = (out: string): CliResult => {
    const [stderr = '', stdout = '', code = ''] = out.split('=====\n')
    return { code: Number(code), signal: null, stdout, stderr }
  }
  const REPORTED = '2>err >out; code=$?; cat err; echo =====; cat out; echo =====; echo $code'

  it.each([0, 20, 100, 300])('with %i KB left at the start', async (left) => {
    const out = await onSmallDisk(
      `head -c $((65536 - ${left}))K /dev/zero > disk/filler; shoal run fine.ts --queue sqlite:disk/shoal.db ${REPORTED}`,
    )
    tellsOneLine(report(out), 'disk_full', 4, 'disk/shoal.db')
  })

  it.each([1, 2])(
    'in the middle of a crawl of %i workers stops it, and nothing is lost with space again',
    async (workers) => {
      const before = site.requests().length
      const links = Array.from({ length: PAGES }, (_, index) => `'${site.origin}/page/${index}'`)
      spider(
        'filling',
        `${onSite('/x').replace(/start: \[.*?\]/, `start: [${links}]`)} records: { page: { fresh: 0 } },`,
        "handler(page, out) { out.record('page', page.url, { text: page.url.repeat(200) }) }",
      )
      const queue = '--queue sqlite:disk/shoal.db'
      const out = await onSmallDisk(`head -c 61M /dev/zero > disk/filler
      shoal run filling.ts --workers ${workers} ${queue} ${REPORTED}
      echo +++++; shoal status ${queue} --json; rm disk/filler
      echo +++++; shoal run filling.ts --workers ${workers} ${queue} --json
      echo +++++; shoal export ${queue} --out disk/all.jsonl >&2; wc -l < disk/all.jsonl`)
      const [full = '', status = '', resumed = '', exported = ''] = out.split('+++++\n')
      const { code, stderr } = report(full)
      expect(code).toBe(4)
      // A low disk is reported before it is full; on a slow machine there is time for a line of progress.
      const lines = [
        /^starting crawl .*\n/,
        /(\{.*"rule":"queue_memory".*\}\n)?/,
        /(\d\d:\d\d:\d\d {2}\d+\/\d+ (pages|links) .*\n)*/,
      ]
      const whole = [...lines, /error disk_full: .*\n {2}→ .*\n$/].map(({ source }) => source).join('')
      expect(stderr).toMatch(new RegExp(whole))
      noStack(stderr)
      const { done, leased } = lastJson(status) as { done: number; leased: number }
      expect(done).toBeGreaterThan(0)
      expect(done).toBeLessThan(PAGES)
      expect(lastJson(resumed)).toMatchObject({ state: 'finished', pages: PAGES, records: PAGES, dead: 0, failed: 0 })
      expect(Number(exported)).toBe(PAGES)
      const requests = site.requests().slice(before)
      const pages = requests.filter((path) => path.startsWith('/page/'))
      expect(new Set(pages).size).toBe(PAGES)
      expect(pages.length).toBeLessThanOrEqual(PAGES + leased)
    },
  )
})
