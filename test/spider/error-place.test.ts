import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { placeOf, shortPath, spiderError } from '../../src/error-place.js'
import { ShoalError } from '../../src/errors.js'
import { loadSpider } from '../../src/spider/load.js'
import { createPage } from '../../src/spider/page.js'
import { THROWN } from './misbehaving.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shoal-place-'))
  vi.stubEnv('XDG_CACHE_HOME', folder)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
  await rm(folder, { recursive: true })
})

/** Where the error happens is marked in the text; the oracle is the number of lines and characters before the mark. */
const MARK = '⌖'

function unmarked(text: string): { code: string; position: string } {
  const before = text.slice(0, text.indexOf(MARK)).split('\n')
  return { code: text.replace(MARK, ''), position: `${before.length}:${(before.at(-1)?.length ?? 0) + 1}` }
}

const PAGE = createPage({
  ...{ url: 'https://books.example/', requestedUrl: 'https://books.example/', status: 200, headers: {} },
  ...{ body: new TextEncoder().encode('<h1>Books</h1>'), route: 'all', depth: 0, attempt: 1, data: undefined },
})

let projects = 0

/** Writes the files, runs the handler of the first one, and answers its error and the marked place. */
async function failing(files: Readonly<Record<string, string>>): Promise<{ error: ShoalError; marked: string }> {
  const project = join(folder, String(++projects))
  let marked = ''
  for (const [name, text] of Object.entries(files)) {
    const { code, position } = unmarked(text)
    if (text.includes(MARK)) marked = `${name}:${position}`
    await mkdir(dirname(join(project, name)), { recursive: true })
    await writeFile(join(project, name), code)
  }
  vi.spyOn(process, 'cwd').mockReturnValue(project)
  // Node's own number; that of vitest is higher.
  Error.stackTraceLimit = 10
  try {
    const spider = await loadSpider(join(project, Object.keys(files)[0] ?? ''))
    await spider.routes.get('all')?.harvest(PAGE)
  } catch (error) {
    if (error instanceof ShoalError) return { error, marked }
    throw error
  }
  throw new Error('nothing was thrown')
}

const spider = (handler: string, more = '') =>
  `export default defineSpider({ name: 'x', start: ['https://books.example/'], ${more} routes: { all: { match: '/**', ${handler} } } })`

const PLACES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'TypeScript, types before the error on its line': {
    'books.ts': `import { defineSpider } from 'shoal'
interface Price { readonly amount: number; readonly currency: Array<Record<string, number>> }
${spider(`
  handler(page) {
    const price: Price | null = null as Price | null; const other: unknown = {}; (other as { deep: { er: string } }).deep.⌖er.trim()
  }`)}`,
  },
  'after an await': {
    'books.ts': `import { defineSpider, type Page } from 'shoal'
${spider(`
  async handler(page: Page): Promise<void> {
    await new Promise<void>((resolve) => setTimeout(resolve, 1));
    const title = page.url as unknown as string; if (title.length > 0) throw ⌖new RangeError('too long')
  }`)}`,
  },
  'all on one line, the first one': {
    'books.ts': `import { defineSpider } from 'shoal'; ${spider(`handler(page) { const x: string = 'x'; throw ⌖new Error(x) }`)}`,
  },
  'enums, classes with parameter properties, generics': {
    'books.ts': `import { defineSpider } from 'shoal'
enum Kind { Book = 'book', Author = 'author' }
class Reader<T extends object> {
  constructor(private readonly kind: Kind, protected seen: Set<T> = new Set<T>()) {}
  read(): T { const kind: Kind = this.kind; if (this.seen.size === 0) throw ⌖new Error(kind); return {} as T }
}
${spider(`handler() { new Reader<{ a: 1 }>(Kind.Book).read() }`)}`,
  },
  'a helper that the spider imports': {
    'spiders/books.ts': `import { defineSpider } from 'shoal'
import { priceOf } from '../lib/prices'
${spider(`handler(page) { priceOf(page.url) }`)}`,
    'lib/prices.ts': `export type Money = { amount: number }

export const priceOf = (text: string): Money => {
  const found: Money | undefined = undefined as Money | undefined; return { amount: found!.⌖amount }
}`,
  },
  'a helper in CommonJS': {
    'books.ts': `import { defineSpider } from 'shoal'
import { priceOf } from './prices.cjs'
${spider(`handler(page) { priceOf(page.url) }`)}`,
    'prices.cjs': `module.exports.priceOf = (text) => {\n  throw ⌖new Error(text)\n}`,
  },
  '.mts': {
    'books.mts': `import { defineSpider } from 'shoal'\n${spider(`handler(page): void { const a: number = 1; throw ⌖new Error(String(a)) }`)}`,
  },
  '.mjs': {
    'books.mjs': `import { defineSpider } from 'shoal'\n${spider(`handler(page) { const a = 1; throw ⌖new Error(String(a)) }`)}`,
  },
  '.js': {
    'books.js': `import { defineSpider } from 'shoal'\n${spider(`handler(page) { const a = 1; throw ⌖new Error(String(a)) }`)}`,
  },
  '.cjs': {
    'books.cjs': `const { defineSpider } = require('shoal')\n${spider(`handler(page) { const a = 1; throw ⌖new Error(String(a)) }`).replace('export default', 'module.exports =')}`,
  },
  'the first line of a .cjs': {
    'books.cjs': `const { defineSpider } = require('shoal'); ${spider(`handler(page) { throw ⌖new Error('no') }`).replace('export default', 'module.exports =')}`,
  },
  'Windows line ends': {
    'books.ts': `import { defineSpider } from 'shoal'\r\ntype A = { a: 1 }\r\n${spider(`\r\n handler(page) { const a: A = { a: 1 };\r\n throw ⌖new Error(String(a)) }`)}`,
  },
  'a byte order mark, and characters of two units': {
    'books.ts': `\u{feff}import { defineSpider } from 'shoal'\n${spider(`handler(page) { const a: string = '📚📚'; throw ⌖new Error(a) }`)}`,
  },
  'a very long line': {
    'books.ts': `import { defineSpider } from 'shoal'\nconst big: string[] = [${"'x', ".repeat(20_000)}]; ${spider(`handler(page) { const a: number = big.length; throw ⌖new Error(String(a)) }`)}`,
  },
  'the transform of a schema': {
    'books.ts': `import { defineSpider } from 'shoal'
import { z } from 'zod'
${spider(
  `handler(page, out) { out.record('book', 'a', { price: 'free' }) }`,
  `records: { book: z.object({ price: z.string().transform((text: string): number => {
  const price: number = Number(text); if (Number.isNaN(price)) throw ⌖new TypeError('no price')
  return price }) }) },`,
)}`,
  },
  'a step': {
    'books.ts': `import { defineSpider } from 'shoal'
import { z } from 'zod'
${spider(
  `handler(page, out) { out.record('book', 'a', { price: 'free' }) }`,
  `records: { book: z.object({ price: z.string() }) },
  steps: [(record) => { const a: unknown = null as unknown; return (a as { b: never }).⌖b }],`,
)}`,
  },
  'misuse of out': {
    'books.ts': `import { defineSpider } from 'shoal'
${spider(`handler(page, out) { const key: string = 'a' as string; out.⌖record('nothing' as never, key, {}) }`)}`,
  },
  'JSON that is none': {
    'books.ts': `import { defineSpider } from 'shoal'
${spider(`handler(page, out) { const a: unknown = page.⌖json }`)}`,
  },
  'deep inside a package': {
    'books.ts': `import { defineSpider } from 'shoal'
import deep from 'deep'
${spider(`handler(page) { const a: number = 40; deep.⌖call(a) }`)}`,
    'node_modules/deep/index.js': `exports.call = function call(n) { if (n > 0) return call(n - 1); throw new Error('deep') }`,
    'node_modules/deep/package.json': `{"name":"deep","main":"index.js"}`,
  },
  'the cause of an error of a package': {
    'books.ts': `import { defineSpider } from 'shoal'
import wrap from 'wrap'
${spider(`async handler(page) { await wrap.wrapped(() => { const a: string = 'x'; throw ⌖new Error(a) }) }`)}`,
    'node_modules/wrap/index.js': `exports.wrapped = (run) => new Promise((resolve, reject) => setTimeout(() => { try { run() } catch (cause) { reject(new Error('wrapped', { cause })) } }))`,
    'node_modules/wrap/package.json': `{"name":"wrap","main":"index.js"}`,
  },
}

describe('the place of an error in the code as it was written', () => {
  it.each(Object.entries(PLACES))('%s', async (_what, files) => {
    const { error, marked } = await failing(files)
    expect(error.place).toBe(marked)
    expect(error.message.startsWith(`${marked}: `)).toBe(true)
    expect(error.code).toBe('handler_error')
  })

  it('is the same when the compiled file comes from the cache', async () => {
    const files = PLACES['after an await'] ?? {}
    projects = 1_000
    const first = await failing(files)
    projects = 1_000
    const second = await failing(files)
    expect(first.error.place).toBe(first.marked)
    expect(second.error.place).toBe(second.marked)
  })

  it('is of the file that runs, after an edit', async () => {
    projects = 2_000
    const before = await failing(PLACES['.mts'] ?? {})
    projects = 2_000
    const after = await failing({ 'books.mts': `// one more line\n${PLACES['.mts']?.['books.mts']}` })
    expect([before.error.place, after.error.place]).toEqual([before.marked, after.marked])
    expect(after.marked).not.toBe(before.marked)
  })
})

describe('an error without a place', () => {
  it.each(THROWN)('%s', (_name, thrown) => {
    const error = spiderError('handler_error', thrown())
    expect(error.message.length).toBeLessThan(1_300)
    expect(error.place === null || error.message.startsWith(error.place)).toBe(true)
  })

  it('is not found in its message, which may be the text of a page', () => {
    const hostile = new Error('x\n    at handler (/etc/passwd:1:1)')
    hostile.stack = `Error: ${hostile.message}\n    at run (/home/me/books.ts:3:7)`
    expect(placeOf(hostile)).toBe('me/books.ts:3:7')
    const long = new Error('x'.repeat(1_000_000))
    long.stack = `Error: ${long.message}\n    at run (/home/me/books.ts:3:7)`
    expect(placeOf(long)).toBe('me/books.ts:3:7')
  })

  it('is found once: an error that has a place keeps it', () => {
    const first = spiderError('handler_error', new Error('no'))
    const second = spiderError('handler_error', first, first.message)
    expect(second.message).toBe(first.message)
    expect(second.place).toBe(first.place)
  })

  it('has causes that are a loop', () => {
    const loop: { cause?: unknown } = Object.assign(new Error('a'), { stack: 'Error: a' })
    loop.cause = loop
    expect(placeOf(loop)).toBe(null)
  })
})

it.each([
  ['/home/me/books.ts', '/home/me', 'books.ts'],
  ['/home/me/spiders/books.ts', '/home/me', 'spiders/books.ts'],
  ['/srv/app/spiders/books.ts', '/home/me', 'spiders/books.ts'],
  ['/home/other/books.ts', '/home/me', 'other/books.ts'],
  ['/books.ts', '/home/me', 'books.ts'],
  ['/home/me/..books.ts', '/home/me', '..books.ts'],
  ['/srv/app/books.ts', null, 'app/books.ts'],
])('%s in %s is %s', (file, from, short) => {
  expect(shortPath(file, from)).toBe(short)
})
