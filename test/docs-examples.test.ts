import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { buildProgram } from '../src/cli/program.js'
import { startShop } from '../src/demo/server.js'
import { SHOP_DEFAULTS } from '../src/demo/shop.js'
import { ERRORS } from '../src/errors.js'
import { definitionSchema } from '../src/spider/definition-schema.js'
import { loadSpider } from '../src/spider/load.js'
import { tempDir } from './support/cli.js'

/** The README and the docs, held to the code: blocks compile and run, commands and paths exist. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const run = promisify(execFile)
const dir = tempDir('docs')
afterAll(() => dir.remove())

interface Block {
  readonly page: string
  readonly line: number
  readonly language: string
  /**
   * What stands behind the language: `spider` and `route` mark parts of a definition, `crawl` what is done with a crawl, `program` is
   * run, anything else is a name.
   */
  readonly role: string
  readonly text: string
}

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8')
const BLOCKS = PAGES.flatMap(blocksOf)

function blocksOf(page: string): Block[] {
  const text = textOf(page)
  return [...text.matchAll(/^```(\w*) *(.*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    page,
    line: text.slice(0, match.index).split('\n').length,
    language: match[1] ?? '',
    role: match[2] ?? '',
    text: match[3] ?? '',
  }))
}

/** Parts of a definition become a whole one; what they leave out is filled in. */
function moduleOf({ role, text }: Block): string {
  if (role === '' || role === 'program') return text
  if (role === 'crawl') {
    return `import { connect } from 'shoal'
import spider from './shop.js'
const shoal = await connect()
const crawl = await shoal.crawl(spider)
${text}`
  }
  const part =
    role === 'route'
      ? `routes: {\n  page: { match: '**',\n${text}  },\n  product: { match: '/product/*' },\n},\n`
      : text
  const fill = { name: `'example'`, start: `['https://shop.example/']`, routes: `{ page: { match: '**' } }` }
  const missing = Object.entries(fill).filter(([key]) => !new RegExp(`^${key}:`, 'm').test(part))
  return `import { defineSpider } from 'shoal'
import { z } from 'zod'
export const schemas = z
export default defineSpider({
${missing.map(([key, value]) => `${key}: ${value},\n`).join('')}${part}})
`
}

const EXAMPLES = BLOCKS.filter(({ language }) => language === 'ts').map((block) => ({
  ...block,
  module: moduleOf(block),
  file: `${block.page.replaceAll(/\W/g, '-')}-line-${block.line}.ts`,
}))

describe('TypeScript in the docs', () => {
  beforeAll(() => {
    // A project that has installed the package, as a user's would.
    for (const name of ['zod', '@types', 'undici-types', 'cheerio']) link(join(ROOT, 'node_modules', name), name)
    link(ROOT, 'shoal')
    writeFileSync(join(dir.path, 'package.json'), '{ "type": "module" }')
    const compilerOptions = {
      ...{ strict: true, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true, types: ['node'] },
      ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', moduleResolution: 'nodenext' },
      ...{ allowImportingTsExtensions: true },
    }
    writeFileSync(join(dir.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    for (const { file, module } of EXAMPLES) writeFileSync(join(dir.path, file), module)
    const shop = EXAMPLES.find(({ page, role }) => page === 'docs/spiders.md' && role === '')
    writeFileSync(join(dir.path, 'shop.ts'), shop?.module ?? '')
  })

  it('compiles against the types of the package', async () => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    const { stdout } = await run(tsc, ['-p', dir.path], { cwd: dir.path }).catch((error: { stdout: string }) => error)
    expect(stdout).toBe('')
  })

  it.each(EXAMPLES.filter(({ module }) => module.includes('export default defineSpider')))(
    'is a spider that Shoal accepts: $page line $line',
    async ({ file }) => {
      await expect(loadSpider(join(dir.path, file))).resolves.toMatchObject({ start: expect.any(Array) })
    },
  )

  it.each(EXAMPLES.filter(({ role }) => role === 'program'))('runs: $page line $line', async ({ module }) => {
    const accessLog = join(dir.path, 'shop.log')
    const shop = await startShop({ ...SHOP_DEFAULTS, pages: 20, faults: 0, port: 0, accessLog })
    try {
      const local = module
        .replace('https://shop.example', `http://127.0.0.1:${shop.port}`)
        .replace('start:', `allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms' }, start:`)
      writeFileSync(join(dir.path, 'program.ts'), local)
      const jiti = join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs')
      const env = { ...process.env, SHOAL_QUEUE: `sqlite:${join(dir.path, 'program.db')}` }
      const { stdout } = await run(process.execPath, [jiti, join(dir.path, 'program.ts')], { env })
      expect(stdout).toMatch(/^\d+ pages, 0 dead letters\nSH-\d+ \{ sku: 'SH-/)
    } finally {
      await shop.close()
    }
  })

  function link(target: string, name: string): void {
    const path = join(dir.path, 'node_modules', name)
    mkdirSync(dirname(path), { recursive: true })
    if (existsSync(target)) symlinkSync(target, path, 'junction')
  }
})

it('docs/spiders.md names every option of a spider', () => {
  const text = textOf('docs/spiders.md')
  const options = optionNames(z.toJSONSchema(definitionSchema, { unrepresentable: 'any', io: 'input' }))
  expect(options.size).toBeGreaterThan(60)
  expect([...options].filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([])
})

function optionNames(schema: unknown, names = new Set<string>()): Set<string> {
  if (typeof schema !== 'object' || schema === null) return names
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name)
    optionNames(value, names)
  }
  return names
}

it('the script that reads an access log works', async () => {
  const script = BLOCKS.find(({ role }) => role === 'gaps.mjs')
  writeFileSync(join(dir.path, 'gaps.mjs'), script?.text ?? '')
  const lines = [
    { t: 1000, end: 1040 },
    { t: 1025, end: null },
    { t: 1100, end: 1101 },
  ]
  writeFileSync(join(dir.path, 'access.log'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { stdout } = await run(process.execPath, ['gaps.mjs', 'access.log'], { cwd: dir.path })
  expect(stdout).toContain('{ requests: 3, smallestGap: 25, mostAtOnce: 2 }')
})

describe('commands in the docs', () => {
  let program: Awaited<ReturnType<typeof buildProgram>>
  beforeAll(async () => {
    program = await buildProgram()
  })
  const scripts = Object.keys((JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }).scripts)

  it('the README begins with the two commands, and CI runs the second', () => {
    const shell = BLOCKS.filter(({ page, language }) => page === 'README.md' && language === 'sh')
    expect(shell.slice(0, 2).map(({ text }) => text.trim())).toEqual(['npm ci && npx shoal demo', 'npm ci && npm test'])
    expect(textOf('.ci/run')).toContain('\nnpm ci && npm test\n')
  })

  it.each(PAGES)('%s names commands and options that exist', (page) => {
    const shell = BLOCKS.filter((block) => block.page === page && block.language === 'sh').flatMap(({ text }) =>
      linesOf(text),
    )
    const inline = [...textOf(page).matchAll(/`((?:npx )?shoal [^`\n]+|npm run [^`\n]+)`/g)].map(
      (match) => match[1] ?? '',
    )
    expect([...shell, ...inline].flatMap(mistakesIn)).toEqual([])
  })

  it('hints of errors name commands and options that exist', () => {
    const hints = Object.values(ERRORS).map(({ hint }) => hint)
    const commands = hints.flatMap((hint) => [...hint.matchAll(/`(shoal [^`]+)`/g)].map((match) => match[1] ?? ''))
    expect(commands.length).toBeGreaterThan(3)
    expect(commands.flatMap(mistakesIn)).toEqual([])
    const flags = hints.flatMap((hint) => [...hint.matchAll(/(?<![\w-])--[a-z-]+/g)].map(([flag]) => flag))
    expect(flags.filter((flag) => ![...everyFlag(program), '--raw'].includes(flag))).toEqual([])
  })

  it('notices a command and an option that do not exist', () => {
    expect(mistakesIn('shoal export --out a.csv | shoal recods list')).toEqual([expect.stringContaining('recods')])
    expect(mistakesIn('npx shoal run a.ts --worker 2')).toEqual([expect.stringContaining('--worker')])
    expect(mistakesIn('npm run biuld')).toEqual([expect.stringContaining('biuld')])
  })

  function linesOf(text: string): string[] {
    return text.split('\n').map((line) => line.replace(/(^|\s)#.*$/, '').trim())
  }

  function mistakesIn(line: string): string[] {
    return line.split(/&&|\|/).flatMap((command) => {
      const words = command.trim().split(/\s+/)
      if (words[0] === 'npm' && words[1] === 'run' && !scripts.includes(words[2] ?? ''))
        return [`${line}: no such script`]
      const at = words[0] === 'npx' ? 1 : 0
      return words[at] === 'shoal' ? mistakesOf(words.slice(at + 1)).map((mistake) => `${line}: ${mistake}`) : []
    })
  }

  function mistakesOf(words: readonly string[]): string[] {
    const flags = new Set(['--help', '--version', ...program.options.map(({ long }) => long ?? '')])
    let command: Command = program
    for (const word of words) {
      if (word.startsWith('-')) break
      const next: Command | undefined = command.commands.find((child) => child.name() === word)
      if (next === undefined && command.commands.length > 0) return [`no command ${word}`]
      if (next === undefined) break
      command = next
    }
    for (const { long } of command.options) flags.add(long ?? '')
    return words
      .filter((word) => word.startsWith('--') && !flags.has(word.replace(/=.*/, '')))
      .map((word) => `no option ${word}`)
  }

  function everyFlag(command: Command): string[] {
    return [...command.options.map(({ long }) => long ?? ''), '--help', ...command.commands.flatMap(everyFlag)]
  }
})

describe('paths in the docs', () => {
  it.each(PAGES)('%s links to files that exist', (page) => {
    const links = [...textOf(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '')
    const local = links.filter((href) => !/^[a-z]+:/.test(href))
    expect(local.filter((href) => !existsSync(join(ROOT, dirname(page), href)))).toEqual([])
  })

  it.each(PAGES)('%s names files that exist', (page) => {
    const named = [...textOf(page).matchAll(/`((?:src|test|bench|docs|scripts|examples)\/[\w./-]*)`/g)].map(
      (match) => match[1] ?? '',
    )
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('the tree in docs/architecture.md is the tree', () => {
    const tree = BLOCKS.find(({ role }) => role === 'tree')?.text ?? ''
    const shown = tree.split('\n').flatMap((line) => /^(\S+) {2,}\S/.exec(line)?.[1] ?? [])
    const source = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    const pathOf = (entry: (typeof source)[number]) =>
      join(entry.parentPath, entry.name).slice(join(ROOT, 'src/').length).replaceAll('\\', '/')
    const folders = source.filter((entry) => entry.isDirectory()).map((entry) => `${pathOf(entry)}/`)
    const files = source.filter((entry) => entry.isFile()).map(pathOf)
    expect(
      [...folders, ...files.filter((path) => !path.includes('/'))].filter((path) => !shown.includes(path)),
    ).toEqual([])
    expect(shown.filter((path) => ![...folders, ...files].includes(path))).toEqual([])
  })

  it('what docs/architecture.md says is decided in a file has its name there', () => {
    const rows = textOf('docs/architecture.md')
      .split('\n')
      .filter((line) => line.startsWith('| ') && line.includes('()`'))
    const missing = rows.flatMap((row) => {
      const [path] = /src\/[\w./-]+\.ts/.exec(row) ?? []
      const names = [...row.matchAll(/`(\w+)\(\)`/g)].map((match) => match[1] ?? '')
      const code = path === undefined ? '' : textOf(path)
      return names.filter((name) => !new RegExp(`\\b${name}\\(`).test(code)).map((name) => `${path}: ${name}`)
    })
    expect(rows.length).toBeGreaterThan(5)
    expect(missing).toEqual([])
  })
})
