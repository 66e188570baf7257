import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { openBackends } from '../../src/wire/backends.js'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

vi.setConfig({ testTimeout: 120_000 })
const dir = tempDir('sitemaps')
const closing: (() => void)[] = []
afterAll(() => {
  for (const close of closing) close()
  dir.remove()
})

interface Site {
  readonly origin: string
  readonly requests: { readonly at: number; readonly path: string; readonly headers: IncomingHttpHeaders }[]
  count(path: string): number
}

type Answer = string | Buffer | { readonly redirect: string }

async function serve(answer: (path: string, origin: string) => Answer | null): Promise<Site> {
  const requests: Site['requests'] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    requests.push({ at: performance.now(), path, headers: request.headers })
    const body = answer(path, origin)
    if (body === null) response.writeHead(404).end()
    else if (typeof body === 'object' && 'redirect' in body) response.writeHead(302, { location: body.redirect }).end()
    else response.end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, requests, count: (path) => requests.filter((request) => request.path === path).length }
}

const urlset = (urls: readonly string[]) =>
  `<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`
const index = (urls: readonly string[]) =>
  `<sitemapindex>${urls.map((url) => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`

function spiderFile(name: string, options: string): string {
  const path = join(dir.path, `${name}.ts`)
  writeFileSync(
    path,
    `import { defineSpider, sitemap } from 'shoal'
export default defineSpider({ name: '${name}', routes: { page: { match: '**', handler() {} } }, ${options} })
`,
  )
  return path
}

describe('a crawl of a sitemap', () => {
  it('keeps the pace of the host over files and pages alike, and reads each file once', async () => {
    const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024))
    const site = await serve((path, origin) => {
      if (path === '/robots.txt') return `User-agent: *\nSitemap: ${origin}/index.xml`
      if (path === '/index.xml')
        return index([`${origin}/index.xml`, `${origin}/1.xml.gz`, `${origin}/bomb.xml`, `${origin}/2.xml`])
      if (path === '/1.xml.gz') return gzipSync(urlset([1, 2, 3].map((n) => `${origin}/p/${n}`)))
      if (path === '/2.xml') return urlset([3, 4, 5].map((n) => `${origin}/p/${n}`))
      if (path === '/bomb.xml') return bomb
      return path.startsWith('/p/') ? '<title>x</title>' : null
    })
    const spider = spiderFile(
      'polite',
      `start: ['${site.origin}/p/1'], seeds: [sitemap()], allowPrivate: ['127.0.0.1:*'], headers: { 'x-api-key': 'k' }, pace: { delay: '150ms' }`,
    )
    const { stdout, stderr } = await runCli(['run', spider, '--json', '--log-level', 'warn'], { cwd: dir.path })
    expect(lastJson(stdout)).toMatchObject({ state: 'finished', pages: 5 })
    for (const path of ['/index.xml', '/1.xml.gz', '/2.xml', '/bomb.xml'])
      expect([path, site.count(path)]).toEqual([path, 1])
    for (const n of [1, 2, 3, 4, 5]) expect(site.count(`/p/${n}`)).toBe(1)
    const gaps = site.requests.slice(1).map(({ at }, n) => at - (site.requests[n]?.at ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThan(75)
    expect(site.requests.find(({ path }) => path === '/2.xml')?.headers['x-api-key']).toBe('k')
    expect(stderr).toContain('bad_listing')
  })

  it('never dials what the guard forbids, whoever names it', async () => {
    const spy = await serve(() => urlset([]))
    const site = await serve((path, origin) => {
      if (path === '/robots.txt') return `Sitemap: ${spy.origin}/robots\nSitemap: ${origin}/index.xml`
      if (path === '/index.xml')
        return index([
          `${spy.origin}/child`,
          spy.origin.replace('127.0.0.1', '2130706433'),
          spy.origin.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
          'http://169.254.169.254/latest/meta-data/',
          'file:///etc/passwd',
          `${origin}/moved.xml`,
          `${origin}/1.xml`,
        ])
      if (path === '/moved.xml') return { redirect: `${spy.origin}/moved` }
      return path === '/1.xml' ? urlset([`${origin}/p/1`]) : '<p>x'
    })
    const spider = spiderFile(
      'guarded',
      `start: ['${site.origin}/p/0'], scope: { hosts: ['*'] }, seeds: [sitemap()], allowPrivate: ['${new URL(site.origin).host}'], pace: { delay: 0 }, retries: { max: 0 }`,
    )
    const { stdout, stderr } = await runCli(['run', spider, '--json', '--log-level', 'warn'], { cwd: dir.path })
    expect(lastJson(stdout)).toMatchObject({ state: 'finished', pages: 2 })
    expect(spy.requests).toEqual([])
    expect(stderr.match(/"seeds\.skipped"/g)).toHaveLength(7)
    expect(stderr.match(/private_address/g)?.length).toBeGreaterThanOrEqual(5)
  })

  it('goes on after kill -9: nothing lost, nothing twice, and files that were read are not fetched again', async () => {
    const [files, each] = [6, 4_000]
    const site = await serve((path, origin) => {
      if (path === '/index.xml') return index(Array.from({ length: files }, (_, n) => `${origin}/${n}.xml`))
      const file = Number(/^\/(\d+)\.xml$/.exec(path)?.[1] ?? Number.NaN)
      if (Number.isNaN(file)) return null
      return urlset(Array.from({ length: each }, (_, n) => `https://h${n % 97}.example/${file}/${n}`))
    })
    const spiderWith = (maxPending: number) =>
      spiderFile(
        'killed',
        `start: [], scope: { hosts: ['*'] }, seeds: [sitemap('${site.origin}/index.xml')], allowPrivate: ['127.0.0.1:*'], pace: { delay: 0 }, robots: false, maxPending: ${maxPending}`,
      )
    // Nobody empties the queue: it is full in the middle of the fourth file.
    const spider = spiderWith(15_000)
    const full = 13_500
    const address = `sqlite:${join(dir.path, 'killed.db')}`
    const args = ['start', spider, '--queue', address, '--json']
    const first = startCli(args, { cwd: dir.path })
    let early = 0
    while (early < full && first.child.exitCode === null) {
      await sleep(50)
      early = await queued(address)
    }
    first.child.kill('SIGKILL')
    await first.result
    expect(await queued(address)).toBe(full)
    spiderWith(1_000_000)
    const fetchedBefore = new Map(site.requests.map(({ path }) => [path, site.count(path)]))

    const told = lastJson((await runCli(args, { cwd: dir.path })).stdout)
    expect(told).toMatchObject({ resumed: true, seeded: true, refused: 0, added: files * each - full })
    expect(Number(told.known)).toBeLessThanOrEqual(1_000)
    expect(await queued(address)).toBe(files * each)
    // The index, and at most the one file that was half in.
    const again = [...fetchedBefore].filter(([path, before]) => path !== '/index.xml' && site.count(path) > before)
    expect(again.length).toBeLessThanOrEqual(1)
    expect(await crawlsIn(address)).toBe(1)
  })
})

async function withFrontier<Result>(
  address: string,
  work: (backends: Awaited<ReturnType<typeof openBackends>>) => Promise<Result>,
) {
  const backends = await openBackends({ queue: address, store: address })
  try {
    return await work(backends)
  } finally {
    await backends.close()
  }
}

function queued(address: string): Promise<number> {
  return withFrontier(address, async ({ frontier }) => {
    const crawl = (await frontier.crawls()).find(({ spider }) => spider === 'killed')
    return crawl === undefined ? 0 : (await frontier.stats(crawl.id)).queued
  })
}

function crawlsIn(address: string): Promise<number> {
  return withFrontier(address, async ({ frontier }) => (await frontier.crawls()).length)
}
