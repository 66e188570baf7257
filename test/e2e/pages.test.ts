import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import { lastJson, runCli } from '../support/cli.js'

const dir = mkdtempSync(join(tmpdir(), 'shoal-pages-'))
const pages = join(dir, '.shoal', 'pages')
let shop: RunningShop
let origin: string

beforeAll(async () => {
  shop = await startShop({ seed: 7, pages: 12, bytes: 1_000, faults: 1, port: 0, accessLog: join(dir, 'access.log') })
  origin = `http://127.0.0.1:${shop.port}`
})
afterAll(async () => {
  await shop.close()
  rmSync(dir, { recursive: true, force: true })
})

function writeSpider(name: string, settings: string, handler = ''): string {
  const file = join(dir, `${name}.ts`)
  writeFileSync(
    file,
    `import { defineSpider } from 'shoal'
     import { z } from 'zod'
     export default defineSpider({
       name: '${name}', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms', concurrency: 4 },
       retries: { max: 3, backoff: ['20ms'] }, records: { product: z.object({ sku: z.string() }) }, ${settings}
       routes: {
         listing: { match: ['/', '/catalogue/page-*'], follow: [{ links: 'a' }] ${handler} },
         product: { match: ['/catalogue/*/index.html', '/old/*'], record: { kind: 'product', key: 'sku', fields: { sku: '.sku' } } },
       },
     })`,
  )
  return file
}

const inDir = (...args: string[]) => runCli(args, { cwd: dir })
const files = (root: string) =>
  existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name)) : []

describe('raw pages', () => {
  it('are not kept unless the spider says so', async () => {
    writeSpider('plain', '')
    expect((await inDir('run', 'plain.ts')).code).toBe(0)
    expect(existsSync(pages)).toBe(false)
    const { code, stderr } = await inDir('pages', 'get', `${origin}/`)
    expect(code).toBe(5)
    expect(stderr).toMatch(/^error not_found: no raw page of .* was kept\n.*savePages/)
  })

  it.each(['1', '2'])('are kept, one for each page, and read back as they came, with %s worker(s)', async (workers) => {
    writeSpider(`keeps${workers}`, 'savePages: true,')
    const ran = await inDir('run', `keeps${workers}.ts`, '--json', '--workers', workers)
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    const first = JSON.parse(
      (await inDir('records', 'list', '--spider', `keeps${workers}`, '--limit', '1', '--json')).stdout,
    )
    for (const url of [`${origin}/`, first.url as string]) {
      const got = await inDir('pages', 'get', url)
      expect(got).toMatchObject({ code: 0, stderr: '' })
      expect(got.stdout).toBe(await (await fetch(url)).text())
    }
    const asked = lastJson((await inDir('pages', 'get', first.url, '--crawl', `keeps${workers}`, '--json')).stdout)
    expect(asked).toMatchObject({ status: 200, page: expect.stringMatching(/^sha256:/) })
    const [, pack = ''] = /^(.*\.pack) bytes \d+-\d+ \(brotli\)$/.exec(String(asked.path)) ?? []
    expect(existsSync(pack)).toBe(true)
    expect(lastJson((await inDir('explain', first.url, '--json')).stdout).rawPage).toBe(asked.path)
    expect((await inDir('explain', first.url)).stdout).toContain(`raw page ${asked.path}`)
    expect(lastJson((await inDir('records', 'get', '--url', first.url, '--json')).stdout).rawPage).toBe(asked.path)
    expect((await inDir('records', 'get', '--url', first.url)).stdout).toContain(`raw page ${asked.path}`)
    // One pack for each worker of each run, at most.
    expect(files(pages).length).toBeLessThanOrEqual(3)
    // Pages that answered with an error are not kept, and the rest once, whichever crawl fetched it.
    const checked = lastJson((await inDir('pages', 'check', '--json')).stdout)
    expect(checked).toMatchObject({ damaged: 0, unreferenced: 0, packs: files(pages).length })
    expect(Number(checked.pages)).toBeLessThanOrEqual(Number(lastJson(ran.stdout).pages))
  })

  it('are there for the page whose handler failed', async () => {
    writeSpider('fails', 'savePages: true,', ", handler() { throw new Error('no') }")
    await inDir('run', 'fails.ts')
    const explained = lastJson((await inDir('explain', `${origin}/`, '--crawl', 'fails', '--json')).stdout)
    expect(explained).toMatchObject({ state: 'dead', rawPage: expect.stringContaining('pages') })
  })

  it('are told from those that never were, and from those that are gone', async () => {
    expect((await inDir('pages', 'get', `${origin}/nowhere`)).code).toBe(5)
    expect((await inDir('pages', 'get')).code).toBe(2)
    rmSync(pages, { recursive: true })
    const { code, stderr } = await inDir('pages', 'get', `${origin}/`)
    expect(code).toBe(5)
    expect(stderr).toContain('is missing or damaged')
    expect(lastJson((await inDir('explain', `${origin}/`, '--json')).stdout).rawPage).toBeNull()
  })

  it.each(['1', '2'])(
    'end the run when they cannot be kept, and nothing is lost by it, with %s worker(s)',
    async (workers) => {
      const name = `full${workers}`
      const spider = writeSpider(name, 'savePages: true,')
      const at = ['--queue', `sqlite:${join(dir, name, 'shoal.db')}`, '--json']
      // A file in the place of the folder stops root, too.
      mkdirSync(join(dir, name))
      writeFileSync(join(dir, name, 'pages'), '')
      // More often than a link may lose its worker.
      for (let time = 0; time < 4; time++) {
        const { code, stdout, stderr } = await inDir('run', spider, ...at, '--workers', workers)
        expect(code).toBe(4)
        expect(`${stdout}${stderr}`).toContain('blobs_unwritable')
      }
      expect(lastJson((await inDir('status', ...at)).stdout)).toMatchObject({ done: 0, dead: 0, leased: 0, total: 1 })
      const seed = lastJson((await inDir('explain', `${origin}/`, ...at)).stdout)
      expect(seed).toMatchObject({ attempts: 0, reclaims: 0, failures: [], fetches: [] })
      rmSync(join(dir, name, 'pages'))
      const mended = await inDir('run', spider, ...at, '--workers', workers)
      expect(mended).toMatchObject({ code: 0, stderr: '' })
      expect((await inDir('pages', 'get', `${origin}/`, ...at)).code).toBe(0)
    },
    60_000,
  )
})
