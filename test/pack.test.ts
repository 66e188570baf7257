import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startShop } from '../src/demo/server.js'

/** What a user gets: the package as npm packs it, installed into an empty project. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const INSTALL_MS = 120_000
const SHOP = { seed: 2, pages: 12, bytes: 1_000, faults: 0 }

let dir: string
let project: string
let packed: string[]
let warnings: string[]

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(command: string, args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    const windows = process.platform === 'win32'
    execFile(command, args, { cwd, env: plainEnv(), shell: windows, maxBuffer: 2 ** 26 }, (error, out, err) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err })
    })
  })
}

/** As from a user's shell: what `npm test` adds would lead the npm below back to this project. */
function plainEnv(): NodeJS.ProcessEnv {
  const kept = /^npm_config_(cache|registry|userconfig|cafile|proxy|https_proxy|noproxy)$/i
  const ours = /^(npm_|SHOAL_|INIT_CWD$|NODE_ENV$|VITEST)/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => kept.test(name) || !ours.test(name)))
}

async function succeed(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, out, err } = await run(command, args, cwd)
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${out}${err}`)
  return out
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-pack-'))
  project = mkdtempSync(join(dir, 'project-'))
  // Without scripts: `npm test` has built already, and other tests are using that build.
  const report = await succeed('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', dir], ROOT)
  const [{ files }] = Object.values(JSON.parse(report) as Record<string, { files: { path: string }[] }>)
  packed = files.map(({ path }) => path).filter((path) => !path.startsWith('node_modules/'))
  const tarball = readdirSync(dir).find((name) => name.endsWith('.tgz')) ?? ''
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true, type: 'module' }))
  const flags = ['--prefer-offline', '--no-audit', '--no-fund']
  const { code, out, err } = await run('npm', ['install', ...flags, join(dir, tarball)], project)
  if (code !== 0) throw new Error(`npm install ended with ${code}:\n${out}${err}`)
  // A setting of the machine that npm does not know is nothing of ours.
  warnings = err.split('\n').filter((line) => line.startsWith('npm warn') && !line.includes('Unknown'))
}, INSTALL_MS)

afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe('the package', () => {
  it('holds what a user needs and nothing else', () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] }
    for (const path of files.filter((file) => existsSync(join(ROOT, file)))) {
      expect(
        packed.some((file) => file === path || file.startsWith(`${path}/`)),
        path,
      ).toBe(true)
    }
    expect(packed).toEqual(expect.arrayContaining(['bin/shoal.js', 'dist/index.js', 'dist/index.d.ts', 'LICENSE']))
    const others = packed.filter((file) => !files.some((kept) => file === kept || file.startsWith(`${kept}/`)))
    expect(others).toEqual(['package.json'])
    // The scripts of the Redis queue are read from where they were written.
    expect(packed).toContain('src/frontier/redis/lua/lease.lua')
    expect(packed).toContain('src/notes/redis/lua/claim.lua')
    expect(packed).toContain('src/proxy/redis/lua/grant.lua')
    expect(packed).toContain('src/redis/lua/server-time.lua')
    expect(packed.filter((file) => /\.(test|tsbuildinfo|map|tgz|db)\b|(^|\/)tests?\//.test(file))).toEqual([])
  })

  it('installs without a warning, and runs no script: SQLite is in the package, built for six platforms', () => {
    expect(warnings).toEqual([])
    const lock = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean; inBundle?: boolean }>
    }
    const installed = Object.entries(lock.packages)
    expect(installed.length).toBeGreaterThan(10)
    // npm never runs those of bundled packages.
    const withScript = installed.filter(([, one]) => one.hasInstallScript === true && one.inBundle !== true)
    expect(withScript.map(([path]) => path)).toEqual([])
    const prebuilt = join(project, 'node_modules/shoal/node_modules/@photostructure/sqlite/prebuilds')
    expect(readdirSync(prebuilt).sort()).toEqual([
      'darwin-arm64',
      'darwin-x64',
      'linux-arm64',
      'linux-x64',
      'win32-arm64',
      'win32-x64',
    ])
  })

  it('gives npx the command', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect((await succeed('npx', ['shoal', '--version'], project)).trim()).toBe(version)
  })

  it('runs a TypeScript spider of the project, and a program of it', async () => {
    const shop = await startShop({ ...SHOP, port: 0, accessLog: join(dir, 'access.log') })
    try {
      const origin = `http://127.0.0.1:${shop.port}`
      writeFileSync(join(project, 'spider.ts'), spiderText(origin, 'product'))
      writeFileSync(join(project, 'program.js'), PROGRAM)
      const out = await succeed('npx', ['shoal', 'run', 'spider.ts', '--json'], project)
      const summary = JSON.parse(out.trim().split('\n').at(-1) ?? '') as Record<string, unknown>
      expect(summary).toMatchObject({ state: 'finished', records: SHOP.pages, dead: 0 })
      const found = await succeed(process.execPath, ['program.js'], project)
      expect(JSON.parse(found)).toEqual({ state: 'finished', records: SHOP.pages })
    } finally {
      await shop.close()
    }
  })

  it('tests a spider in node:test and in vitest', async () => {
    await succeed('npx', ['shoal', 'init', 'spiders'], project)
    const spiders = join(project, 'spiders')
    const { scripts, dependencies } = JSON.parse(readFileSync(join(spiders, 'package.json'), 'utf8')) as {
      scripts: { test: string }
      dependencies: { shoal: string }
    }
    expect(dependencies.shoal).toMatch(/^file:\.\.\/\.\.\/shoal-.*\.tgz$/)
    expect(await succeed('sh', ['-c', scripts.test], spiders)).toMatch(/^# pass 2$/m)
    for (const name of ['vitest', 'vite'])
      symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name))
    const test = readFileSync(join(spiders, 'books.test.ts'), 'utf8')
    writeFileSync(join(spiders, 'vitest.test.ts'), test.replace("from 'node:test'", "from 'vitest'"))
    const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
    const out = await succeed(process.execPath, [vitest, 'run', 'vitest.test.ts', '--root', '.'], spiders)
    expect(out).toContain('2 passed')
  })

  it('brings its types: a route that does not exist is an error of the compiler', async () => {
    writeFileSync(join(project, 'good.ts'), spiderText('https://a.example', 'product'))
    writeFileSync(join(project, 'bad.ts'), spiderText('https://a.example', 'prodcut'))
    const options = { target: 'es2022', module: 'nodenext', strict: true, noEmit: true, types: [] }
    writeFileSync(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['good.ts', 'bad.ts'] }),
    )
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc')
    const { code, out } = await run(process.execPath, [tsc, '-p', 'tsconfig.json', '--pretty', 'false'], project)
    expect(code).not.toBe(0)
    // Types of a dependency want @types/node, which this project has not; ours do not.
    const errors = out.split('\n').filter((line) => /^(?!node_modules\/(?!shoal\/))\S.*error TS/.test(line))
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatch(/^bad\.ts.*"prodcut"/)
  })
})

function spiderText(origin: string, route: string): string {
  return `import { defineSpider } from 'shoal'
import { z } from 'zod'

export default defineSpider({
  name: 'shop',
  start: ['${origin}/'],
  scope: { hosts: ['${new URL(origin).host}'], deny: ['/events/*'] },
  allowPrivate: ['127.0.0.1:*'],
  pace: { delay: '1ms', concurrency: 4 },
  records: { product: z.object({ title: z.string(), price: z.number(), sku: z.string() }) },
  routes: {
    listing: {
      match: ['/', '/catalogue/page-*'],
      follow: [{ links: 'article a', route: '${route}' }, { links: 'a.next', route: 'listing' }],
    },
    product: {
      match: '/catalogue/*/index.html',
      record: { kind: 'product', key: 'sku', fields: { title: 'h1', price: { select: '.price', as: 'number' }, sku: '.sku' } },
    },
  },
})
`
}

const PROGRAM = `import { connect } from 'shoal'

const shoal = await connect({ queue: 'sqlite:program.db' })
const crawl = await shoal.crawl('spider.ts')
const reading = (async () => {
  let records = 0
  for await (const _ of crawl.subscribe()) records++
  return records
})()
const { state } = await crawl.runWorkers()
console.log(JSON.stringify({ state, records: await reading }))
await shoal.close()
`
