import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { serveDashboard } from '../../src/api/server.js'
import { openBackends } from '../../src/wire/backends.js'
import { callDashboard, partsOf } from '../api/served.js'
import { type CliResult, runCli, tempDir } from '../support/cli.js'

vi.setConfig({ testTimeout: 120_000 })

/** In passwords of links on pages, and in the value of a secret: whatever shows one of them has shown a secret. */
const PASSWORD = 'c4narybird'
const KEY = 'k3y+canary/bird'

const cleanups: (() => unknown)[] = []
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

async function site(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<number> {
  const server: Server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += String(piece)
  return text
}

it('user names and passwords in the links of pages are shown, stored and sent nowhere', async () => {
  const dir = tempDir('user-info')
  cleanups.push(() => dir.remove())
  const sent: string[] = []
  const port = await site((request, response) => {
    const { url = '', headers } = request
    sent.push(`${url} ${JSON.stringify(headers)}`)
    const host = `127.0.0.1:${port}`
    const link = (path: string) => `http://anna:${PASSWORD}@${host}${path}`
    const to = (location: string) => response.writeHead(302, { location }).end()
    const html = (text: string) => response.writeHead(200, { 'content-type': 'text/html' }).end(text)
    if (url === '/robots.txt') response.end(`User-agent: *\nDisallow: /secret\nSitemap: ${link('/map.xml')}\n`)
    else if (url === '/map.xml') {
      const places = [link('/listed'), `ftp://anna:${PASSWORD}@files.example/`, `anna:${PASSWORD}@no.url/`]
      response.end(`<urlset>${places.map((loc) => `<url><loc>${loc}</loc></url>`).join('')}</urlset>`)
    } else if (url === '/to-self') to(link('/to-self'))
    else if (url === '/to-page') to(link('/landed'))
    else if (url === '/to-ftp') to(`ftp://anna:${PASSWORD}@files.example/`)
    else if (url === '/to-outside') to(`https://anna:${PASSWORD}@outside.example/`)
    else if (url === '/refresh') html(`<meta http-equiv=refresh content="0; url=${link('/refreshed')}">`)
    else if (url === '/refresh-header')
      response.writeHead(200, { refresh: `0; url=${link('/refreshed-2')}`, 'content-type': 'text/html' }).end('<p>x')
    else if (url === '/based') html(`<base href="${link('/deep/')}"><a href="inner">x</a><a href="http://:0">x</a>`)
    else if (url === '/') {
      const hrefs = [
        ...['/plain', '/throws', '/to-self', '/to-page', '/to-ftp', '/to-outside', '/refresh', '/based'].map(link),
        ...[link('/refresh-header'), link('/secret/page'), link(`/${'long'.repeat(1_000)}`), `ftp://a:${PASSWORD}@x/`],
        ...[`//anna:${PASSWORD}@outside.example/`, `\\\\anna:${PASSWORD}@outside.example/`, `http://a:${PASSWORD}@/`],
        ...[`https:anna:${PASSWORD}@outside.example`, `&#1;https://a:${PASSWORD}@outside.example`],
        ...[`http://a:${PASSWORD.repeat(300)}@[::bad`, `http://${PASSWORD}@127.0.0.1:99999/`],
      ]
      html(`<link rel=canonical href="${link('/')}">${hrefs.map((href) => `<a href="${href}">x</a>`).join('')}`)
    } else html('<title>page</title>')
  })
  writeFileSync(
    join(dir.path, 'spider.ts'),
    `import { defineSpider, sitemap } from 'shoal'
export default defineSpider({
  name: 'canary', start: ['http://anna:${PASSWORD}@127.0.0.1:${port}/'], allowPrivate: ['127.0.0.1:*'],
  seeds: [sitemap()], pace: { delay: '1ms' }, retries: { max: 0 },
  records: { page: {} },
  routes: {
    throws: { match: '/throws', handler() { throw new Error('odd link http://anna:${PASSWORD}@x.example/ here') } },
    page: { match: '/**', follow: [{ links: 'a' }], record: { kind: 'page', fields: { title: 'title' } } },
  },
})
`,
  )
  const cli = { cwd: dir.path }
  const address = `sqlite:${join(dir.path, 'shoal.db')}`
  const places = ['--queue', address, '--store', address]
  const outputs: CliResult[] = []
  const shoal = async (...args: string[]) => {
    const result = await runCli([...args, ...(args[0] === 'try' ? [] : places)], cli)
    outputs.push(result)
    return result
  }
  const ran = await shoal('run', 'spider.ts', '--log-level', 'debug')
  expect([ran.code, ran.code === 0 ? '' : ran.stderr.slice(-2_000)]).toEqual([0, ''])
  for (const path of ['/plain', '/landed', '/deep/inner', '/listed', '/refreshed'])
    expect(sent.map((line) => line.split(' ')[0])).toContain(path)
  expect(ran.stderr).toContain('handler.failed')
  for (const args of [
    ['status', '--json'],
    ['dead', 'list', '--json'],
    ['dead', 'list'],
    ['links', 'list', '--json'],
    ['explain', `http://anna:${PASSWORD}@127.0.0.1:${port}/to-ftp`],
    ['explain', `http://anna:${PASSWORD}@127.0.0.1:${port}/nowhere`],
    ['explain', `http://anna:${PASSWORD}@[::bad`],
    ['export'],
    ['try', 'spider.ts', `http://anna:${PASSWORD}@127.0.0.1:${port}/`, '--json'],
    ['try', 'spider.ts', `http://anna:${PASSWORD}@127.0.0.1:${port}/to-outside`],
    ['crawl', `http://anna:${PASSWORD}@[::bad`],
  ])
    await shoal(...args)

  const backends = await openBackends({ queue: address, store: address })
  const dashboard = await serveDashboard(partsOf(backends, { queue: address, store: address }), {
    ...{ host: '127.0.0.1', port: 0, token: null, publicUrl: null },
  })
  const [crawl] = await backends.frontier.crawls()
  for (const path of [
    ...['/api/overview', '/api/crawls', `/api/crawls/${crawl?.id}`, `/api/crawls/${crawl?.id}/links`, '/metrics'],
    ...[`/api/crawls/${crawl?.id}/links?state=dead`, `/api/crawls/${crawl?.id}/hosts`, '/api/records', '/api/audit'],
  ]) {
    const { status, text } = await callDashboard(dashboard, path)
    outputs.push({ code: status, signal: null, stdout: text, stderr: '' })
  }
  await dashboard.close()
  await backends.close()

  for (const { stdout, stderr } of outputs) expect(spotted(stdout + stderr, PASSWORD)).toEqual([])
  expect(spotted(sent.join('\n'), PASSWORD)).toEqual([])
  // Basic authentication from a URL would be in base64.
  expect(sent.join('\n')).not.toContain('authorization')
  for (const path of filesIn(dir.path).filter((name) => !name.endsWith('spider.ts')))
    expect({ path, seen: spotted(readFileSync(path, 'latin1'), PASSWORD) }).toEqual({ path, seen: [] })
})

it('the value of a secret is not in what the code of the spider logs, prints and throws, wherever it ends', async () => {
  const dir = tempDir('said-secrets')
  cleanups.push(() => dir.remove())
  const port = await site((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>item</title>')
  })
  const origin = `http://127.0.0.1:${port}`
  writeFileSync(
    join(dir.path, 'spider.ts'),
    `import { defineSpider, secret } from 'shoal'
export default defineSpider({
  name: 'says', start: ['${origin}/logs', '${origin}/throws', '${origin}/later', '${origin}/after'],
  allowPrivate: ['127.0.0.1:*'], robots: false, pace: { delay: '1ms' }, retries: { max: 0 },
  secrets: { apiKey: { env: 'SHOP_API_KEY', origins: ['${origin}'] } },
  headers: { authorization: secret('apiKey') },
  routes: {
    page: { match: '/**', async handler(page) {
      const said = 'the key is ' + process.env.SHOP_API_KEY
      page.log(said)
      console.log(said)
      if (page.url.endsWith('/throws')) throw new Error(said)
      if (page.url.endsWith('/later')) {
        setTimeout(() => { throw new Error(said) }, 1)
        await new Promise(() => {})
      }
      if (page.url.endsWith('/after')) setTimeout(() => { throw new Error(said) }, 200)
    } },
  },
})
`,
  )
  const cli = { cwd: dir.path, env: { SHOP_API_KEY: KEY } }
  const ran = await runCli(['run', 'spider.ts'], cli)
  expect(ran.stderr).toContain('worker.died')
  const tried = await runCli(['try', 'spider.ts', `${origin}/logs`, '--json'], cli)
  const outputs = [ran, tried, await runCli(['try', 'spider.ts', `${origin}/later`], cli)]
  for (const { stdout, stderr } of outputs) {
    expect(stdout + stderr).toContain('the key is ***')
    expect(spotted(stdout + stderr, 'canary')).toEqual([])
  }
  for (const path of filesIn(dir.path).filter((name) => !name.endsWith('spider.ts')))
    expect({ path, seen: spotted(readFileSync(path, 'latin1'), 'canary') }).toEqual({ path, seen: [] })
})

it('the value of a secret reaches its origins, and is stored and shown nowhere', async () => {
  const dir = tempDir('secret-values')
  cleanups.push(() => dir.remove())
  const api: string[] = []
  const stranger: string[] = []
  const strangerPort = await site(async (request, response) => {
    stranger.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${await bodyOf(request)}`)
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>stranger</title>')
  })
  const other = `http://127.0.0.1:${strangerPort}`
  const apiPort = await site(async (request, response) => {
    const { authorization = '', 'x-key': key = '' } = request.headers
    const body = await bodyOf(request)
    api.push(`${request.method} ${request.url} ${authorization} ${key} ${body}`)
    const to = (location: string) => response.writeHead(307, { location }).end()
    if (request.url === '/away') return to(`${other}/from-redirect`)
    if (request.url === '/echo') return to(`ftp://files.example/?leaked=${encodeURIComponent(KEY)}`)
    response.writeHead(authorization === `Bearer ${KEY}` ? 200 : 401, { 'content-type': 'text/html' })
    response.end('<title>item</title>')
  })
  const origin = `http://127.0.0.1:${apiPort}`
  writeFileSync(
    join(dir.path, 'spider.ts'),
    `import { defineSpider, secret } from 'shoal'
const authorization = \`Bearer \${secret('apiKey')}\`
export default defineSpider({
  name: 'api', start: ['${origin}/list'], scope: { hosts: ['127.0.0.1:${apiPort}', '127.0.0.1:${strangerPort}'] },
  allowPrivate: ['127.0.0.1:*'], robots: true, savePages: true, pace: { delay: '1ms' }, retries: { max: 0 },
  secrets: { apiKey: { env: 'SHOP_API_KEY', origins: ['${origin}'] } },
  headers: { authorization, 'x-key': secret('apiKey') },
  records: { item: {} },
  routes: {
    list: { match: '/list', handler(page, out) {
      out.follow('/item', { route: 'item', method: 'POST', body: JSON.stringify({ key: secret('apiKey', 'json') }) })
      out.follow('/away', { route: 'item', method: 'POST', body: secret('apiKey') })
      out.follow('/echo', { route: 'item' })
      out.follow('${other}/plain', { route: 'item' })
      out.follow('${other}/stolen', { route: 'item', headers: { 'x-stolen': secret('apiKey') } })
      out.follow('/typo', { route: 'item', body: secret('apikey'), method: 'POST' })
    } },
    item: { match: '/**', record: { kind: 'item', fields: { title: 'title' } } },
  },
})
`,
  )
  const address = `sqlite:${join(dir.path, 'shoal.db')}`
  const places = ['--queue', address, '--store', address]
  const cli = { cwd: dir.path, env: { SHOP_API_KEY: KEY } }

  const without = await runCli(['run', 'spider.ts', ...places], { cwd: dir.path })
  expect(without).toMatchObject({ code: 3 })
  expect(without.stderr).toContain("secret_missing: api: the environment variable SHOP_API_KEY of the secret 'apiKey'")
  expect(api).toEqual([])

  const stolen = { url: `${other}/seeded`, headers: { 'x-stolen': '{{secret.apiKey}}' } }
  writeFileSync(join(dir.path, 'seeds.jsonl'), `${JSON.stringify(stolen)}\n`)
  const ran = await runCli(
    ['run', 'spider.ts', '--seeds', 'seeds.jsonl', '--workers', '2', '--log-level', 'debug', ...places],
    cli,
  )
  const outputs = [ran, await runCli(['dead', 'list', '--json', ...places], cli)]
  expect([ran.code, ran.code === 0 ? '' : ran.stderr.slice(-2_000)]).toEqual([0, ''])
  const bearer = `Bearer ${KEY} ${KEY}`
  expect(api).toContain(`GET /list ${bearer} `)
  expect(api).toContain(`POST /item ${bearer} ${JSON.stringify({ key: KEY })}`)
  expect(stranger.some((line) => line.startsWith('GET /plain'))).toBe(true)
  expect(stranger.some((line) => /stolen|seeded|from-redirect/.test(line))).toBe(false)
  expect(spotted(stranger.join('\n'), 'k3y')).toEqual([])
  const dead = outputs[1]?.stdout ?? ''
  for (const path of ['/stolen', '/seeded', '/away', '/typo']) expect(dead).toContain(path)
  expect(dead).toContain('secret_refused')

  for (const args of [
    ['links', 'list', '--json', ...places],
    ['explain', `${other}/stolen`, ...places],
    ['export', ...places],
    ['export', '--format', 'warc', ...places],
    ['try', 'spider.ts', `${origin}/list`],
    ['try', 'spider.ts', `${origin}/echo`],
  ])
    outputs.push(await runCli(args, cli))
  expect(outputs.at(-2)?.stdout).toContain('200')
  for (const { stdout, stderr } of outputs) expect(spotted(stdout + stderr, 'canary/bird|canary%2Fbird')).toEqual([])
  for (const path of filesIn(dir.path))
    expect({ path, seen: spotted(readFileSync(path, 'latin1'), 'canary/bird') }).toEqual({ path, seen: [] })
})

/** Where the word is, with what is around it. */
function spotted(text: string, word: string): string[] {
  return [...text.matchAll(new RegExp(`.{0,80}(?:${word}).{0,20}`, 'g'))].map(([around]) => around)
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile())
}
