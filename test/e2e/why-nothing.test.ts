import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { lastJson, runCli } from '../support/cli.js'

vi.setConfig({ testTimeout: 60_000 })
const dir = mkdtempSync(join(tmpdir(), 'shoal-why-'))
let server: Server
let host = ''
let hasSitemap = true

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    if (url === '/sitemap.xml' && hasSitemap) response.end(`<urlset><url><loc>http://${host}/p/1</loc></url></urlset>`)
    else if (url.startsWith('/p/')) response.setHeader('content-type', 'text/html').end('<h1>1</h1>')
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

function spider(name: string, fields: string): string {
  const file = `${name}.ts`
  const common = "allowPrivate: ['127.0.0.1:*'], robots: false, pace: { delay: 0 }, retries: { max: 0 }"
  const text = `import { defineSpider, sitemap } from 'shoal'\nexport default defineSpider({ name: '${name}', ${common}, ${fields} })`
  writeFileSync(join(dir, file), `${text}\nvoid sitemap\n`)
  return file
}
const run = (file: string, ...args: string[]) => runCli(['run', file, ...args], { cwd: dir })
const RECORD = "record: { kind: 'page', fields: { title: 'h1' } }"

it('a site that is not there is named by its error, in text and in JSON', async () => {
  const file = spider(
    'gone',
    `start: ['http://127.0.0.1:9/'], records: { page: {} }, routes: { page: { match: '/**', ${RECORD} } }`,
  )
  expect((await run(file)).stdout).toMatch(/why 1 URL failed with connect_error: .*ECONNREFUSED/)
  const { code, stdout } = await run(file, '--fresh', '--json')
  expect(code).toBe(6)
  expect(lastJson(stdout).why).toEqual([expect.stringContaining('ECONNREFUSED')])
})

it('sitemap() finds the sitemap of a host that has no https, and says when there is none', async () => {
  const mapped = (name: string) =>
    spider(
      name,
      `scope: { hosts: ['${host}'] }, seeds: [sitemap()], records: { page: {} }, routes: { page: { match: '/**', ${RECORD} } }`,
    )
  expect(lastJson((await run(mapped('mapped'), '--json')).stdout)).toMatchObject({ pages: 1, records: 1, why: [] })
  hasSitemap = false
  const { stdout } = await run(mapped('unmapped'))
  expect(stdout).toContain(`why no start URLs in the sitemaps of ${host}: neither robots.txt nor /sitemap.xml has one`)
})

it('routes that only follow links say so', async () => {
  const file = spider(
    'follows',
    `start: ['http://${host}/p/1'], routes: { page: { match: '/**', follow: [{ links: 'a' }] } }`,
  )
  expect((await run(file)).stdout).toContain(
    'why no route produces records: page only follows links (add `record` or a handler)',
  )
})
