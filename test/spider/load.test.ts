import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import { loadSpider } from '../../src/spider/load.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shoal-load-'))
  vi.stubEnv('XDG_CACHE_HOME', folder)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

let files = 0
/** Each file in a folder of its own, where nothing is installed. */
async function file(name: string, text: string): Promise<string> {
  const path = join(folder, String(++files), name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  return path
}

async function refusal(path: string): Promise<string> {
  try {
    await loadSpider(path)
  } catch (error) {
    if (error instanceof ShoalError) return `${error.code} ${error.message.replace(path, 'FILE')}`
    throw error
  }
  return 'accepted'
}

const body = `defineSpider({ name: 'x', start: ['https://books.example/'], routes: { all: { match: '/**' } } })`

describe('a spider file', () => {
  it('is the example of the documentation', async () => {
    const spider = await loadSpider(fileURLToPath(new URL('../../examples/books.ts', import.meta.url)))
    expect(spider.name).toBe('books')
    expect([...spider.routes.keys()]).toEqual(['listing', 'book'])
    expect(spider.routes.get('book')?.retries).toEqual({
      max: 3,
      backoff: { kind: 'list', ms: [1_000, 10_000, 60_000] },
    })
    expect(spider.hash).toMatch(/^[0-9a-f]{16}$/)
  })

  it('may lie anywhere, in TypeScript, with shoal and zod from nowhere and helpers beside it', async () => {
    const path = await file(
      'spider.ts',
      `import { defineSpider, type Page } from 'shoal'
       import { z } from 'zod'
       import { titleOf } from './helper.ts'
       enum Kind { book = 'book' }
       const record = { [Kind.book]: z.object({ title: z.string() }) }
       export default defineSpider({
         name: 'x', start: ['https://books.example/'], records: record,
         routes: { all: { match: '/**', handler(page: Page, out) { out.record('book', page.url, { title: titleOf(page) }) } } },
       })`,
    )
    await writeFile(
      join(dirname(path), 'helper.ts'),
      `export const titleOf = (page: { url: string }): string => page.url.toUpperCase()`,
    )
    const spider = await loadSpider(path)
    expect(spider.routes.get('all')?.harvest({ url: 'u' } as never)).toMatchObject({
      records: [{ kind: 'book', key: 'u', data: { title: 'U' } }],
    })
  })

  it.each([
    ['spider.mts', `import { defineSpider } from 'shoal'; export default ${body} satisfies object`],
    ['spider.mjs', `import { defineSpider } from 'shoal'; export default ${body}`],
    ['spider.js', `import { defineSpider } from 'shoal'; export default ${body}`],
    ['spider.cjs', `const { defineSpider } = require('shoal'); module.exports = ${body}`],
    ['await.ts', `import { defineSpider } from 'shoal'; await null; export default ${body}`],
    [
      'by-hand.ts',
      `export default { '~shoal': 'spider', definition: { name: 'x', start: ['https://books.example/'], routes: { all: { match: '/**' } } } }`,
    ],
  ])('%s', async (name, text) => {
    expect((await loadSpider(await file(name, text))).name).toBe('x')
  })

  it("uses the zod of the user's project where there is one", async () => {
    const path = await file(
      'spider.ts',
      `import { defineSpider } from 'shoal'\nimport { own } from 'zod'\nexport default defineSpider({ ...own })`,
    )
    const own = join(dirname(path), 'node_modules', 'zod')
    await mkdir(own, { recursive: true })
    await writeFile(join(own, 'package.json'), '{"name":"zod","type":"module","exports":"./index.js"}')
    await writeFile(
      join(own, 'index.js'),
      `export const own = { name: 'own', start: ['https://books.example/'], routes: { all: { match: '/**' } } }`,
    )
    expect((await loadSpider(path)).name).toBe('own')
  })

  it('is loaded anew after an edit, with another hash', async () => {
    const path = await file('spider.ts', `import { defineSpider } from 'shoal'; export default ${body}`)
    const before = await loadSpider(path)
    await writeFile(path, `import { defineSpider } from 'shoal'; export default ${body.replace("'x'", "'y'")}`)
    const after = await loadSpider(path)
    expect([before.name, after.name]).toEqual(['x', 'y'])
    expect(after.hash).not.toBe(before.hash)
  })
})

describe('a spider file that cannot be used gets one line', () => {
  it.each([
    ['a syntax error', 'bad.ts', `const a = 1\nconst b = = 2\n`, /^spider_syntax FILE:2:\d+: Unexpected token/],
    [
      'a syntax error in JavaScript',
      'bad.mjs',
      `const a = 1\nconst b = = 2\n`,
      /^spider_syntax FILE:2(:\d+)?: Unexpected token/,
    ],
    [
      'an error of its own',
      'throws.ts',
      `const a: string = 'x'\n\nthrow new Error('no luck')`,
      /^spider_syntax FILE:3:\d+: no luck/,
    ],
    [
      'a module that is not there',
      'import.ts',
      `import x from 'not-there'\nexport default x`,
      /^spider_syntax FILE:1:15: cannot find the package 'not-there' from \//,
    ],
    ['no default export', 'none.ts', `export const spider = 1`, /^spider_invalid FILE: has no default export/],
    [
      'something else',
      'other.ts',
      `export default { name: 'x' }`,
      /^spider_invalid FILE: the default export is not a spider/,
    ],
    ['nothing', 'empty.ts', ``, /^spider_invalid FILE: has no default export/],
    [
      'a wrong value',
      'wrong.ts',
      `import { defineSpider } from 'shoal'; export default ${body.replace("'/**'", '3')}`,
      /^spider_invalid FILE: routes\.all\.match/,
    ],
  ])('%s', async (_what, name, text, line) => {
    const message = await refusal(await file(name, text))
    expect(message).toMatch(line)
    expect(message).not.toContain('\n')
  })

  it('a mistake in a file that it imports', async () => {
    const path = await file('spider.ts', `import { a } from './helper'\nexport default a`)
    const helper = join(dirname(path), 'helper.ts')
    await writeFile(helper, 'export const a: number = = 2')
    expect(await refusal(path)).toMatch(`spider_syntax FILE: ${helper}:1:25: Unexpected token`)
    await writeFile(helper, `export const a = 1\nthrow new Error('no luck')`)
    expect(await refusal(path)).toMatch(`spider_syntax FILE: ${helper}:2:7: no luck`)
  })

  it('no file', async () => {
    expect(await refusal(join(folder, 'nowhere.ts'))).toBe('spider_missing FILE: there is no such file')
    expect(await refusal(folder)).toBe('spider_missing FILE: is a folder, not a file')
  })
})

describe('an import that leads nowhere', () => {
  const using = (line: string) => `import { defineSpider } from 'shoal'\n${line}\nvoid x\nexport default ${body}`

  /** Writes the files into one folder, loads the first, and answers the failure with that folder left out. */
  async function failure(files: Readonly<Record<string, string>>): Promise<{ line: string; hint: string }> {
    const [[name = '', text = ''] = [], ...others] = Object.entries(files)
    const path = await file(name, text)
    const project = path.slice(0, -name.length - 1)
    for (const [other, content] of others) {
      await mkdir(dirname(join(project, other)), { recursive: true })
      await writeFile(join(project, other), content)
    }
    const [error] = await Promise.all([loadSpider(path).then(String, (thrown: unknown) => thrown)])
    if (!(error instanceof ShoalError)) return { line: 'accepted', hint: '' }
    return { line: error.message.replaceAll(`${project}/`, '').replaceAll(project, '.'), hint: error.hint }
  }

  it.each<[string, string, string, Readonly<Record<string, string>>?]>([
    [
      'a file',
      `import { x } from './parse-price'`,
      "spider.ts:2:19: cannot find './parse-price' (looked for parse-price, .ts, .js, .mjs …, parse-price/index.ts)",
    ],
    [
      'a file with a similar name',
      `import { x } from './lib/prise'`,
      "spider.ts:2:19: cannot find './lib/prise' (looked for lib/prise, .ts, .js, .mjs …, lib/prise/index.ts), did you mean './lib/price'?",
      { 'lib/price.ts': '' },
    ],
    [
      'an import of several lines',
      `import {\n  x,\n} from "./prices.js"`,
      "spider.ts:4:8: cannot find './prices.js' (looked for prices.js and prices.ts)",
    ],
    [
      'a folder that is not there',
      `const x = require('../shared/x')`,
      "spider.ts:2:19: cannot find '../shared/x' (there is no folder",
    ],
    [
      'a folder without an index',
      `import { x } from './lib'`,
      "spider.ts:2:19: cannot find './lib' (lib is a folder without an index.ts or index.js)",
      { 'lib/price.ts': '' },
    ],
    ['a dynamic import', `const x = await import('./x')`, "spider.ts:2:24: cannot find './x' (looked for x, .ts"],
    [
      'in a file that the spider imports',
      `import { x } from './lib/price'`,
      "spider.ts: lib/price.ts:3:19: cannot find './money' (looked for lib/money, .ts",
      { 'lib/price.ts': `\n\nimport { y } from './money'\nexport const x = y` },
    ],
    ['a package', `import x from 'lodash'`, "spider.ts:2:15: cannot find the package 'lodash' from ."],
    ['a package with a scope', `import x from '@acme/a/b'`, "spider.ts:2:15: cannot find the package '@acme/a' from ."],
    [
      'something that a package needs',
      `import x from 'half'`,
      "the package 'half' cannot find 'other-half'",
      { 'node_modules/half/index.js': `require('other-half')`, 'node_modules/half/package.json': `{"name":"half"}` },
    ],
    ['a part of Shoal', `import x from 'shoal/nothing'`, "spider.ts:2:15: Shoal has no module 'shoal/nothing'"],
    ['a module of Node', `import x from 'node:nothing'`, "spider.ts:2:15: Node has no module 'node:nothing'"],
    [
      'a URL',
      `import x from 'https://x.example/a.js'`,
      "spider.ts:2:15: cannot import the URL 'https://x.example/a.js'",
    ],
    [
      'an export that is not there',
      `import { x as y } from './price'; const x = y()`,
      'spider.ts:2:46: x is not a function',
      { 'price.ts': 'export const price = 1' },
    ],
    [
      'an alias without a tsconfig.json',
      `import { x } from '@/x'`,
      "spider.ts:2:19: cannot find '@/x': there is no tsconfig.json with paths above the spider",
    ],
    [
      'an alias that no path matches',
      `import { x } from '@/x'`,
      "spider.ts:2:19: cannot find '@/x': tsconfig.json has paths for ~/*, lib, and none matches",
      { 'tsconfig.json': '{ "compilerOptions": { "paths": { "~/*": ["./src/*"], "lib": ["./lib"] } } }' },
    ],
    [
      'an alias that leads to no file',
      `import { x } from 'shop/x'`,
      "spider.ts:2:19: cannot find 'shop/x' (tsconfig.json leads to src/x, and there is no such file)",
      { 'tsconfig.json': '{ "compilerOptions": { "paths": { "shop/*": ["./src/*"] } } }' },
    ],
    [
      'an alias with a broken tsconfig.json',
      `import { x } from '~/x'`,
      "spider.ts:2:19: cannot find '~/x': tsconfig.json cannot be read: File './base.json' not found.",
      { 'tsconfig.json': '{ "extends": "./base.json" }' },
    ],
    [
      'a package, or an alias of a broken tsconfig.json',
      `import { x } from 'shop/x'`,
      "spider.ts:2:19: cannot find the package 'shop' from ., and tsconfig.json cannot be read: Non-relative paths are not allowed",
      { 'tsconfig.json': '{ "compilerOptions": { "paths": { "shop/*": ["src/*"] } } }' },
    ],
    [
      'a package, or a file by baseUrl',
      `import { x } from 'lodash'`,
      "spider.ts:2:19: cannot find the package 'lodash' from ., nor lodash (by tsconfig.json)",
      { 'tsconfig.json': '{ "compilerOptions": { "baseUrl": "." } }' },
    ],
  ])('%s', async (_what, line, message, others = {}) => {
    const failed = await failure({ 'spider.ts': using(line), ...others })
    expect(failed.line).toContain(message)
    expect(failed.line).not.toContain('\n')
  })

  it('of a package says how to install it', async () => {
    expect((await failure({ 'spider.ts': using(`import x from 'lodash/get'`) })).hint).toBe(
      'Install it: `npm install lodash`.',
    )
  })
})

describe('tsconfig.json', () => {
  async function project(files: Readonly<Record<string, string>>): Promise<string> {
    const folder = dirname(await file('README.md', ''))
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await writeFile(join(folder, name), content)
    }
    return join(folder, 'spiders', 'books.ts')
  }
  const uses = (imports: string) =>
    `import { defineSpider } from 'shoal'\n${imports}\nexport default ${body.replace("'x'", 'name')}`

  it.each<[string, string, string]>([
    ['paths', '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }', `import { name } from '@/name'`],
    [
      'paths with an ending',
      '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
      `import { name } from '@/name.js'`,
    ],
    [
      'an exact path',
      '{ "compilerOptions": { "paths": { "the-name": ["./src/name.ts"] } } }',
      `import { name } from 'the-name'`,
    ],
    [
      'the second of two paths',
      '{ "compilerOptions": { "paths": { "~/*": ["./none/*", "./src/*"] } } }',
      `const { name } = await import('~/name')`,
    ],
    ['baseUrl', '{ "compilerOptions": { "baseUrl": "./src" } }', `import { name } from 'name'`],
    [
      'paths under baseUrl',
      '{ "compilerOptions": { "baseUrl": "src", "paths": { "#*": ["*"] } } }',
      `import { name } from '#name'`,
    ],
    [
      'extends, with comments',
      '{ // the base\n "extends": "./base/tsconfig.json", }',
      `import { name } from '@base/name'`,
    ],
  ])('%s work', async (_what, config, imports) => {
    const path = await project({
      'spiders/books.ts': uses(imports),
      'src/name.ts': `export const name: string = 'by-path'`,
      'base/tsconfig.json': '{ "compilerOptions": { "paths": { "@base/*": ["../src/*"] } } }',
      'tsconfig.json': config,
    })
    expect((await loadSpider(path)).name).toBe('by-path')
  })

  it('applies to what the spider imports, too', async () => {
    const path = await project({
      'spiders/books.ts': uses(`import { name } from '../lib/a'`),
      'lib/a.ts': `export { name } from '@/name'`,
      'src/name.ts': `export const name: string = 'by-path'`,
      'tsconfig.json': '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
    })
    expect((await loadSpider(path)).name).toBe('by-path')
  })

  it('that is broken does not matter to a spider without such imports, nor does that of a package', async () => {
    const path = await project({
      'spiders/books.ts': uses(`import { name } from 'named'`),
      'tsconfig.json': '{ "extends": "./base.json" ',
      'node_modules/named/index.js': `export const name = 'of-a-package'`,
      'node_modules/named/package.json': '{ "name": "named" }',
      'node_modules/named/tsconfig.json': '{ "extends": "@someone/tsconfig" }',
    })
    expect((await loadSpider(path)).name).toBe('of-a-package')
  })
})
