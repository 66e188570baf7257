import { writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

/**
 * `explain` asked in the middle of a real crawl. The site has one slot, and holds the answer to /held until it is told to let go: what is more
 * urgent is over by then, what is less urgent waits.
 */
vi.setConfig({ testTimeout: 90_000 })
const dir = tempDir('explain')
const held: ServerResponse[] = []
let site: Server
let origin: string
let run: ReturnType<typeof startCli>

const PAGES: Record<string, { status?: number; html?: string; headers?: Record<string, string> }> = {
  '/robots.txt': { html: 'User-agent: *\nDisallow: /secret/\n', headers: { 'content-type': 'text/plain' } },
  '/': {
    html: ['urgent/good', 'urgent/gone', 'urgent/flaky', 'secret/plan', 'held', 'waiting/1', 'waiting/2']
      .map((path) => `<a href="/${path}?utm_source=shop#top">${path}</a>`)
      .join('<a href="https://elsewhere.example/">out</a>'),
  },
  '/urgent/good': { html: '<h1>Good</h1>' },
  '/urgent/old': { status: 301, headers: { location: '/urgent/new' } },
  '/urgent/new': { html: '<h1>New</h1>' },
  '/urgent/gone': { status: 404 },
  '/urgent/flaky': { status: 500 },
  '/waiting/1': { html: '<h1>One</h1>' },
  '/waiting/2': { html: '<h1>Two</h1>' },
}

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? ''
    if (path === '/held') {
      held.push(response)
      return
    }
    const { status = 200, html = '', headers = { 'content-type': 'text/html' } } = PAGES[path] ?? { status: 404 }
    response.writeHead(status, headers).end(html)
  })
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  writeFileSync(
    join(dir.path, 'shop.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'shop', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'], pace: { delay: 0, concurrency: 1 },
       fetch: { timeout: '10min', headersTimeout: '10min' },
       scope: { maxDepth: 3 }, retries: { max: 2, backoff: ['1h'] }, records: { thing: {} },
       routes: {
         home: { match: '/', priority: 90, follow: [{ links: 'a' }] },
         urgent: { match: ['/urgent/*', '/secret/*'], priority: 50, record: { kind: 'thing', fields: { title: 'h1' } } },
         held: { match: '/held', priority: 10, handler() {} },
         waiting: { match: '/waiting/*', handler() {} },
       },
     })`,
  )
  run = startCli(['run', 'shop.ts'], { cwd: dir.path })
  while (held.length === 0) {
    if (run.child.exitCode !== null) throw new Error(`the crawl ended too early: ${(await run.result).stderr}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})

afterAll(async () => {
  run.child.kill('SIGKILL')
  await run.result
  site.closeAllConnections()
  await new Promise((resolve) => site.close(resolve))
  dir.remove()
})

const shoal = (...args: string[]) => runCli(args, { cwd: dir.path })

async function explain(url: string, ...flags: string[]) {
  const [text, json] = await Promise.all([shoal('explain', url, ...flags), shoal('explain', url, '--json', ...flags)])
  expect({ text: text.stderr, json: json.stderr }).toEqual({ text: '', json: '' })
  expect(json.code).toBe(text.code)
  expect(json.stdout.trimEnd().split('\n')).toHaveLength(1)
  return { code: text.code, text: text.stdout, json: lastJson(json.stdout) }
}

describe('explain, in the middle of a crawl', () => {
  it('queued: what comes first, and when its host is next', async () => {
    const first = await explain(`${origin}/waiting/1`)
    expect(first.code).toBe(0)
    expect(first.json).toMatchObject({ state: 'queued', url: `${origin}/waiting/1`, spider: 'shop', position: 0 })
    expect(first.text).toMatch(/^queued {2}http/)
    expect(first.text).toContain('no links of its host are ahead of it')
    expect(first.text).toMatch(/next slot of 127\.0\.0\.1:\d+: /)
    const second = await explain(`${origin}/waiting/2`)
    expect(second.json).toMatchObject({ state: 'queued', position: 1, route: 'waiting', depth: 1, attempts: 0 })
    expect(second.text).toContain('1 link of its host is ahead of it')
  })

  it('delayed: until when, and after what', async () => {
    const { code, text, json } = await explain(`${origin}/urgent/flaky`)
    expect(code).toBe(0)
    expect(json).toMatchObject({
      state: 'delayed',
      attempts: 1,
      failures: [{ code: 'server_error' }],
      fetches: [{ status: 500, attempt: 1, error: 'server_error' }],
    })
    expect(text).toMatch(/^delayed {2}http.*\n {2}due in (59 min|1 h).*\n {2}attempt 1 ended with server_error: /)
  })

  it('leased: by whom, and for how long', async () => {
    const { code, text, json } = await explain(`${origin}/held`)
    expect(code).toBe(0)
    expect(json).toMatchObject({ state: 'leased', worker: expect.stringContaining(`-${run.child.pid}-`), attempts: 0 })
    expect(text).toMatch(/^in flight {2}http.*\n {2}in flight on worker \S+ for .+, attempt 1\n/)
  })

  it('done: the fetch and the records', async () => {
    const { code, text, json } = await explain(`${origin}/urgent/good`)
    expect(code).toBe(0)
    expect(json).toMatchObject({
      state: 'done',
      fetches: [{ status: 200, attempt: 1, error: null }],
      records: [{ kind: 'thing', data: { title: 'Good' } }],
    })
    expect(text).toMatch(/^done {2}http[\s\S]* status 200[\s\S]* 1 record: thing /)
  })

  it('done behind a redirect: where it led', async () => {
    const other = ['--queue', 'sqlite:redirect.db']
    const flags = ['--allow-private', new URL(origin).host, '--delay', '1ms', ...other]
    expect((await shoal('crawl', `${origin}/urgent/old`, ...flags)).code).toBe(0)
    const { json } = await explain(`${origin}/urgent/old`, ...other)
    expect(json).toMatchObject({ state: 'done', fetches: [{ status: 200, url: `${origin}/urgent/new` }] })
  })

  it('dead: the last error, and how to try again', async () => {
    const { code, text, json } = await explain(`${origin}/urgent/gone`)
    expect(code).toBe(0)
    expect(json).toMatchObject({ state: 'dead', failures: [{ code: 'http_error' }], fetches: [{ status: 404 }] })
    expect(text).toMatch(/^dead {2}http.*\n {2}1 attempt, the last ended with http_error: the server answered 404\n/)
    expect(text).toContain(`dead replay ${origin}/urgent/gone`)
  })

  it('skipped: robots.txt', async () => {
    const { code, text, json } = await explain(`${origin}/secret/plan`)
    expect(code).toBe(0)
    expect(json).toMatchObject({ state: 'skipped', failures: [{ code: 'robots_disallowed' }], fetches: [] })
    expect(text).toMatch(/^skipped {2}http.*\n {2}not fetched: robots_disallowed: /)
  })

  it.each([
    ['out_of_scope', () => 'https://elsewhere.example/'],
    ['no_route', () => `${origin}/no/such/route`],
    ['url_too_long', () => `${origin}/waiting/${'x'.repeat(5_000)}`],
    ['trap', () => `${origin}/waiting/a/a/a/a/a/a/a/a`],
  ])('rejected by the filter: %s', async (refusal, url) => {
    const { code, text, json } = await explain(url())
    expect(code).toBe(0)
    expect(json).toMatchObject({ state: 'rejected', code: refusal, spider: 'shop' })
    expect(text).toMatch(new RegExp(`^rejected {2}${refusal}: `))
    expect(text.length).toBeLessThan(1_000)
  })

  it('never seen: in scope, but nobody links to it', async () => {
    const { code, text, json } = await explain(`${origin}/waiting/3`)
    expect(code).toBe(5)
    const url = `${origin}/waiting/3`
    expect(json).toEqual({ state: 'never_seen', url, asked: url, rule: null, inScope: true, why: [] })
    expect(text).toMatch(/^never seen {2}http.*\n {2}it is in scope, but no page fetched so far links to it\n/)
  })

  it('never seen: what robots.txt would say of it', async () => {
    const { stdout } = await shoal('explain', `${origin}/secret/other`, '--json')
    expect(lastJson(stdout)).toMatchObject({ state: 'never_seen', inScope: true, why: [{ code: 'robots_disallowed' }] })
  })

  it('knows a page by every spelling of its URL', async () => {
    const { json } = await explain(`${origin.toUpperCase()}/./urgent/good?utm_campaign=x#reviews`)
    expect(json).toMatchObject({ state: 'done', url: `${origin}/urgent/good` })
  })

  it.each([
    ['nonsense', 'bad_url'],
    ['file:///etc/passwd', 'bad_scheme'],
  ])('says that %s is none', async (url, code) => {
    const result = await shoal('explain', url)
    expect(result.code).toBe(2)
    expect(result.stderr).toMatch(new RegExp(`^error ${code}: .*\\n {2}→ .*\\n$`))
  })

  it('queued, while the crawl is paused', async () => {
    expect((await shoal('pause')).code).toBe(0)
    expect((await explain(`${origin}/waiting/1`)).text).toContain('the crawl is paused: no links are handed out')
    expect((await shoal('resume')).code).toBe(0)
  })

  it('after a drain tells the same of what is left, and the rest is done', async () => {
    for (const response of held) response.end('let go')
    for (const path of ['held', 'waiting/1', 'waiting/2'])
      await expect.poll(async () => (await explain(`${origin}/${path}`)).json.state, { timeout: 20_000 }).toBe('done')
    run.child.kill('SIGINT')
    expect((await run.result).code).toBe(130)
    expect((await explain(`${origin}/urgent/flaky`)).json).toMatchObject({ state: 'delayed' })
    expect((await shoal('cancel')).code).toBe(0)
    expect((await explain(`${origin}/urgent/flaky`)).text).toContain('the crawl is cancelled: no links are handed out')
  })
})
