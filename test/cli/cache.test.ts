import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { shoal } from './cli.js'

const PAGES = 40
const NEW = 8
const NEW_PATHS = Array.from({ length: NEW }, (_, nth) => `/new/${nth}`)
const dir = mkdtempSync(join(tmpdir(), 'shoal-cache-cli-'))
/** Every request that reached the site, and when. */
const requests: { readonly path: string; readonly at: number }[] = []
let connections = 0
let origin = ''

const site = createServer((request, response) => {
  const path = request.url ?? '/'
  requests.push({ path, at: performance.now() })
  const links = Array.from({ length: PAGES }, (_, nth) => `<a href="/page/${nth}">${nth}</a>`).join('')
  if (path === '/robots.txt') return response.end('User-agent: *\nDisallow: /secret\n')
  if (path === '/sitemap.xml')
    return response.end(
      `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>${origin}/page/1</loc></url></urlset>`,
    )
  if (path === '/moved') return response.writeHead(302, { location: '/other' }).end()
  if (path === '/broken') return response.writeHead(404).end()
  // Old and new pages in turn.
  const more = path === '/mixed' ? NEW_PATHS.map((to) => `<a href="${to}">new</a><a href="/page/1">old</a>`) : []
  response.setHeader('content-type', 'text/html')
  return response.end(`<h1>${path}</h1>${more.join('')}<a href="/moved">moved</a><a href="/broken">broken</a>${links}`)
})
site.on('connection', () => {
  connections++
})

beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
})
afterAll(() => site.close())
beforeEach(() => {
  requests.length = 0
  connections = 0
})

/** A spider of all pages, with a start page of its own if it is to find new ones. */
function writeSpider({ delay, start = '/', seeds = '' }: { delay: string; start?: string; seeds?: string }): void {
  writeFileSync(
    join(dir, 'pages.ts'),
    `import { defineSpider, sitemap } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: 'pages', start: [${JSON.stringify(origin + start)}], ${seeds} allowPrivate: ['127.0.0.1:*'],
       records: { page: z.object({ title: z.string() }) },
       pace: { delay: '${delay}', concurrency: 1 }, retries: { max: 0 },
       routes: { page: { match: '/**', follow: [{ links: 'a' }],
         record: { kind: 'page', key: 'title', fields: { title: 'h1' } } } },
     })`,
  )
}

async function run(...more: string[]) {
  const started = performance.now()
  const { code, out, err } = await shoal(['run', 'pages.ts', '--fresh', '--json', ...more], { cwd: dir })
  expect(err).toBe('')
  const summary = JSON.parse(out) as { pages: number; records: number; dead: number; responses: unknown }
  return { code, err, summary, ms: performance.now() - started }
}

it('the second run sends nothing, not even robots.txt, and does not wait for the pace', async () => {
  writeSpider({ delay: '10ms' })
  const first = await run('--cache')
  // The start page, the pages, and one that was moved.
  expect(first.summary).toMatchObject({ pages: PAGES + 2, records: PAGES + 2, dead: 1 })
  expect(first.summary.responses).toEqual({ cache: 0, network: PAGES + 4 })
  expect(requests.filter(({ path }) => path === '/robots.txt')).toHaveLength(1)

  requests.length = 0
  connections = 0
  // At this pace the 44 requests would take 44 s.
  writeSpider({ delay: '1s' })
  const second = await run('--cache')
  expect({ requests, connections }).toEqual({ requests: [], connections: 0 })
  expect(second.summary).toMatchObject({ pages: PAGES + 2, records: PAGES + 2, dead: 1 })
  expect(second.summary.responses).toEqual({ cache: PAGES + 4, network: 0 })
  expect(second.ms).toBeLessThan(15_000)

  // Nor does one that keeps nothing of its own: queue and robots.txt of the runs before are in the database.
  const third = await run('--cache', '--queue', 'memory:', '--workers', '1')
  expect({ requests, connections }).toEqual({ requests: [], connections: 0 })
  expect(third.summary.responses).toEqual({ cache: PAGES + 4, network: 0 })
})

it('keeps the pace for what it does send, in between pages from the cache', async () => {
  writeSpider({ delay: '200ms', start: '/mixed' })
  const { summary } = await run('--cache')
  expect(summary.responses).toMatchObject({ network: NEW + 1 })
  expect(requests.map(({ path }) => path).sort()).toEqual(['/mixed', ...NEW_PATHS])
  const gaps = requests.slice(1).map(({ at }, nth) => at - (requests[nth]?.at ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(0.9 * 200)
})

it('sitemaps are kept too', async () => {
  writeSpider({ delay: '1ms', seeds: `seeds: [sitemap('${origin}/sitemap.xml')],` })
  await run('--cache')
  expect(requests.map(({ path }) => path)).toContain('/sitemap.xml')
  requests.length = 0
  connections = 0
  await run('--cache')
  expect({ requests, connections }).toEqual({ requests: [], connections: 0 })
})

it('is never the default, and --cache-clear empties it', async () => {
  writeSpider({ delay: '1ms' })
  expect((await run()).summary.responses).toBeNull()
  expect(requests.length).toBeGreaterThan(PAGES)
  const args = ['run', 'pages.ts', '--fresh', '--cache-clear']
  const { code, out, err } = await shoal(args, { cwd: dir })
  expect(code).toBe(0)
  expect(err).toMatch(/^deleted \d+ responses \(\d+ kB\) from \.shoal\/cache$/m)
  expect(out).toContain(`no responses from the cache, ${PAGES + 4} from the network`)
  const doctor = await shoal(['doctor'], { cwd: dir })
  expect(doctor.out).toMatch(new RegExp(`cache .*\\.shoal/cache: ${PAGES + 4} responses, `))
})

it('refuses a folder with other files, and leaves them alone', async () => {
  writeSpider({ delay: '1ms' })
  const mine = join(dir, 'mine')
  writeFileSync(join(mkdtempSync(mine), 'thesis.txt'), '')
  const folder = readdirSync(dir).find((name) => name.startsWith('mine')) ?? ''
  const { code, err } = await shoal(['run', 'pages.ts', '--cache-dir', folder, '--cache-clear'], { cwd: dir })
  expect(code).toBe(2)
  expect(err).toContain(`${folder} is not a cache of Shoal`)
  expect(err).toContain('--cache-dir')
  expect(readdirSync(join(dir, folder))).toEqual(['thesis.txt'])
  expect(requests).toEqual([])
})
