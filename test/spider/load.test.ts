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
      /^spider_syntax FILE.*: Cannot find (module|package) 'not-there'/,
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
