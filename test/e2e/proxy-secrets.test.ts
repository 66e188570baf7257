import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { type CliResult, runCli, startCli, tempDir } from '../support/cli.js'
import { startProxy, type TestProxy } from '../support/proxy-server.js'
import { startRedis } from '../support/redis-server.js'

/** Words that stand nowhere but in the secrets: whatever shows one of them has shown a secret. */
const CANARY = 'c4narybird'
const PASSWORD = `p@ss-${CANARY}-word`
const USER = `cust_1-token_${CANARY}x-zone`
const KEY = `key&${CANARY}`

const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

async function listening(server: Server): Promise<number> {
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function proxyFor(options: Parameters<typeof startProxy>[0]): Promise<TestProxy> {
  const proxy = await startProxy(options)
  cleanups.push(() => proxy.stop())
  return proxy
}

it('passwords, user names and keys of proxies are shown nowhere', async () => {
  const dir = tempDir('secrets')
  cleanups.push(() => dir.remove())
  const asked: string[] = []
  const site = await listening(
    createServer((request, answer) => {
      asked.push(request.url ?? '')
      if (request.url?.includes('/ban')) answer.writeHead(403).end()
      else answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>page</title>')
    }),
  )
  // Fetches what it is asked for by itself, and fails for some.
  const service = await listening(
    createServer((request, answer) => {
      const { searchParams } = new URL(request.url ?? '', 'http://service')
      const wanted = searchParams.get('url') ?? ''
      if (searchParams.get('key') !== KEY) answer.writeHead(401).end()
      else if (wanted.includes('/reset')) request.socket.destroy()
      else if (wanted.includes('/fail')) answer.writeHead(500).end(`failed for ${request.url}`)
      else if (wanted.includes('/itself'))
        answer.writeHead(302, { location: `http://${request.headers.host}${request.url}` }).end()
      else if (wanted.includes('/moved')) answer.writeHead(302, { location: '/api/there' }).end()
      else answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>page</title>')
    }),
  )
  const login = { username: USER, password: PASSWORD }
  const good = await proxyFor({ login })
  const wrong = await proxyFor({ login: { ...login, password: 'another' } })
  const dead = await proxyFor({ login })
  dead.mode = 'dead'
  const gateway = await proxyFor({ kind: 'socks5', acceptsUser: (_user, password) => password === PASSWORD })
  const rest = { rest: { first: '1s', longest: '1s' } }
  const pools = {
    dc: { ...rest, entries: [good.url, wrong.url.replace('another', encodeURIComponent(PASSWORD)), dead.url] },
    gw: {
      ...{ ...rest, service: 'gateway', kind: 'residential', sessions: 2, passwordEnv: 'GW_PASSWORD' },
      url: `socks5://${USER}-session-{session}:{password}@127.0.0.1:${gateway.port}`,
    },
    api: { ...rest, service: 'wrap', url: `http://127.0.0.1:${service}/?key={key}&url={url}`, keyEnv: 'API_KEY' },
  }
  writeFileSync(join(dir.path, 'pools.json'), JSON.stringify(pools))
  const pages = [
    '/dc/1',
    '/dc/2',
    '/dc/3',
    '/dc/ban',
    '/gw/1',
    '/gw/ban',
    '/api/1',
    '/api/reset',
    '/api/fail',
    '/api/moved',
    '/api/itself',
  ]
  const start = JSON.stringify(pages.map((path) => `http://127.0.0.1:${site}${path}`))
  writeFileSync(
    join(dir.path, 'spider.ts'),
    `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'canary', start: ${start}, robots: false, allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms' },
  retries: { max: 1, backoff: ['10ms'] }, maxThrottles: 1, savePages: true,
  proxy: 'dc',
  records: { page: {} },
  routes: {
    gw: { match: '/gw/*', proxy: 'gw', record: { kind: 'page', fields: { title: 'title' } } },
    api: { match: '/api/*', proxy: 'api', record: { kind: 'page', fields: { title: 'title' } } },
    dc: { match: '/dc/*', record: { kind: 'page', fields: { title: 'title' } } },
  },
})
`,
  )
  const redis = await startRedis({ aof: 'always' })
  cleanups.push(() => redis.stop())
  const env = { GW_PASSWORD: PASSWORD, API_KEY: KEY }
  const cli = { cwd: dir.path, env }
  const places = ['--queue', redis.url, '--store', 'sqlite:records.db']

  const crawl = startCli(
    ['run', 'spider.ts', '--workers', '2', '--proxies', 'pools.json', '--log-level', 'debug', ...places],
    cli,
  )
  let shown = ''
  const watching = setInterval(() => {
    shown += commandLines()
  }, 200)
  const outputs: CliResult[] = [await crawl.result]
  clearInterval(watching)
  expect(outputs[0]).toMatchObject({ code: 0 })
  // The run did what it should: through all three, with failures of all sorts.
  expect(good.seen.users).toContain(USER)
  expect(wrong.seen.refusedLogins).toBeGreaterThan(0)
  expect(gateway.seen.users.every((user) => user.startsWith(`${USER}-session-`))).toBe(true)
  expect(gateway.seen.users.length).toBeGreaterThan(0)
  expect(asked.filter((path) => path.startsWith('/dc/')).length).toBeGreaterThan(3)

  const url = ['--url', `http://127.0.0.1:${site}/`, '--allow-private', `127.0.0.1:${site}`]
  const file = ['--queue', 'sqlite:queue.db', '--log-level', 'debug']
  const looks = [
    ['status', '--json', ...places],
    ['dead', 'list', '--json', ...places],
    ['explain', `http://127.0.0.1:${site}/api/reset`, ...places],
    ['proxies', 'list', '--proxies', 'pools.json', ...places],
    ['proxies', 'list', '--proxies', 'pools.json', '--json', ...places],
    ['proxies', 'test', 'dc', '--proxies', 'pools.json', ...url, ...file],
    ['proxies', 'test', 'gw', '--proxies', 'pools.json', '--json', ...url, ...file],
  ]
  for (const args of looks) outputs.push(await runCli(args, cli))
  const inEnv = { cwd: dir.path, env: { PROXY_LIST: `${good.url} nonsense:${PASSWORD}@x` } }
  outputs.push(await runCli(['proxies', 'list', ...file], inEnv))
  expect(outputs.at(-1)?.code).toBe(3)

  for (const { stdout, stderr } of outputs) expect(spotted(stdout + stderr)).toEqual([])
  expect(spotted(shown)).toEqual([])
  const files = [...filesIn(dir.path), ...filesIn(redis.dir)].filter((path) => !path.endsWith('pools.json'))
  expect(files.some((path) => path.endsWith('.aof'))).toBe(true)
  expect(files.some((path) => path.endsWith('records.db'))).toBe(true)
  expect(files.some((path) => path.endsWith('queue.db'))).toBe(true)
  for (const path of files) expect({ path, seen: spotted(readFileSync(path, 'latin1')) }).toEqual({ path, seen: [] })
}, 90_000)

/** Where the canary is, with what stands around it. */
function spotted(text: string): string[] {
  return [...text.matchAll(new RegExp(`.{0,80}${CANARY}.{0,20}`, 'g'))].map(([around]) => around)
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
}

/** As every user of the machine can see them. */
function commandLines(): string {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => ['cmdline', 'comm'].map((name) => `/proc/${pid}/${name}`))
    .map((path) => {
      try {
        return readFileSync(path, 'latin1')
      } catch {
        return ''
      }
    })
    .join('\n')
}
