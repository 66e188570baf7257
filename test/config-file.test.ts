import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { findConfigFile, openConfigFile } from '../src/cli/config-file.js'
import { type Config, type FILE_KEYS, loadConfig } from '../src/config.js'
import { defineConfig, type SettingsDefinition } from '../src/config-definition.js'
import { addressLines } from '../src/run/address-lines.js'
import { tempDir } from './support/cli.js'

let dir: ReturnType<typeof tempDir>
beforeEach(() => {
  dir = tempDir('config-file')
})
afterEach(() => dir.remove())

function put(path: string, text = ''): string {
  const file = join(dir.path, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

interface Given {
  readonly flags?: Record<string, unknown>
  readonly env?: Record<string, string>
  readonly folder?: string
}

async function settingsOf({ flags = {}, env = {}, folder = dir.path }: Given = {}): Promise<Config> {
  const sources = { flags, env }
  return loadConfig({ ...sources, file: await openConfigFile(sources, folder) })
}

const refusal = (given?: Given) =>
  settingsOf(given).then(
    () => null,
    (error: { code: string; message: string; hint: string }) => error,
  )

const CONFIG_TS = `
  import { defineConfig } from 'shoal'
  const level: string = 'info'
  export default defineConfig({
    queue: 'sqlite:data/shoal.db',
    logLevel: level,
    workers: 2,
    environments: {
      production: { queue: 'redis://:s3cret@queue:6379', store: 'postgres://db/shoal', logLevel: 'warn' },
      ci: { queue: 'memory:', workers: null },
    },
  })`

describe('shoal.config.ts', () => {
  it('as JSON may begin with a byte order mark, and shows nothing of its text when it is broken', async () => {
    put('shoal.config.json', '\uFEFF{ "queue": "memory:" }')
    expect(await settingsOf()).toMatchObject({ queue: 'memory:' })
    put('shoal.config.json', `{ "store": s3cret }`)
    expect((await refusal())?.message).toBe("shoal.config.json: not JSON: Unexpected token 's'")
  })

  it('has settings for all environments, and others for each', async () => {
    put('shoal.config.ts', CONFIG_TS)
    const here = 'sqlite:data/shoal.db'
    expect(await settingsOf()).toMatchObject({ queue: here, store: here, logLevel: 'info', workers: 2 })
    expect(await settingsOf({ flags: { env: 'production' } })).toMatchObject({
      ...{ queue: 'redis://:s3cret@queue:6379', store: 'postgres://db/shoal', logLevel: 'warn', workers: 2 },
    })
    expect(await settingsOf({ env: { SHOAL_ENV: 'ci' } })).toMatchObject({ queue: 'memory:', workers: 'auto' })
    // The flag before the variable.
    expect((await settingsOf({ flags: { env: 'ci' }, env: { SHOAL_ENV: 'production' } })).queue).toBe('memory:')
  })

  it('comes after flags and the variables of Shoal, and before those of other programs and the defaults', async () => {
    put(
      'shoal.config.json',
      JSON.stringify({ queue: 'redis://top', environments: { prod: { queue: 'redis://prod' } } }),
    )
    const flag = { queue: 'redis://flag' }
    const own = { SHOAL_QUEUE: 'redis://own' }
    const foreign = { REDIS_URL: 'redis://foreign' }
    for (const [flags, env, queue, from] of [
      [{ ...flag, env: 'prod' }, { ...own, ...foreign }, 'redis://flag', '--queue'],
      [{ env: 'prod' }, { ...own, ...foreign }, 'redis://own', 'SHOAL_QUEUE'],
      [{ env: 'prod' }, foreign, 'redis://prod', 'prod in shoal.config.json'],
      [{}, foreign, 'redis://top', 'shoal.config.json'],
      [{}, { SHOAL_QUEUE: '', ...foreign }, 'redis://top', 'shoal.config.json'],
    ] as const) {
      const settings = await settingsOf({ flags, env: { ...env } })
      expect([settings.queue, settings.origins.queue, settings.origins.skipped]).toEqual([queue, from, []])
    }
    put('empty/shoal.config.json', '{}')
    const none = { folder: join(dir.path, 'empty') }
    expect((await settingsOf({ ...none, env: foreign })).origins.queue).toBe('REDIS_URL')
    expect((await settingsOf(none)).origins.queue).toBeNull()
    // A file that is named for the queue has the records, too; the database of another program has not.
    put('file/shoal.config.json', '{ "queue": "sqlite:a.db" }')
    expect(
      await settingsOf({ folder: join(dir.path, 'file'), env: { DATABASE_URL: 'postgres://db/x' } }),
    ).toMatchObject({ queue: 'sqlite:a.db', store: 'sqlite:a.db' })
  })

  it('is named in the first line of a command, without a password', async () => {
    put('shoal.config.ts', CONFIG_TS)
    expect(addressLines(await settingsOf({ flags: { env: 'production' } }))).toEqual([
      'queue redis://:***@queue:6379 (from production in shoal.config.ts), records postgres://db/shoal (from production in shoal.config.ts)',
    ])
  })

  it('may be TypeScript, JavaScript or JSON', async () => {
    const text = "export default { queue: 'memory:' }"
    for (const [name, content] of [
      ['shoal.config.ts', `${text} satisfies object`],
      ['shoal.config.mts', text],
      ['shoal.config.js', text],
      ['shoal.config.mjs', text],
      ['shoal.config.json', '{ "queue": "memory:" }'],
    ] as const) {
      const folder = dirname(put(`${name}-folder/${name}`, content))
      expect([name, (await settingsOf({ folder })).queue]).toEqual([name, 'memory:'])
    }
  })

  it('is found in this folder, or above it in the same repository or package, and nowhere else', () => {
    const top = put('shoal.config.json', '{}')
    const deep = join(dir.path, 'a', 'b')
    mkdirSync(deep, { recursive: true })
    expect([findConfigFile(dir.path), findConfigFile(deep)]).toEqual([top, null])
    put('package.json', '{}')
    expect(findConfigFile(deep)).toBe(top)
    // A package within it is the end, unless they are in one repository.
    put('a/package.json', '{}')
    expect(findConfigFile(deep)).toBeNull()
    mkdirSync(join(dir.path, '.git'))
    expect(findConfigFile(deep)).toBe(top)
    const nearer = put('a/shoal.config.ts')
    expect(findConfigFile(deep)).toBe(nearer)
    put('a/shoal.config.js')
    expect(() => findConfigFile(deep)).toThrow('two config files')
  })

  it('has files relative to itself', async () => {
    put('package.json', '{}')
    const settings = {
      ...{ queue: 'sqlite:data/a.db', pages: 'files:pages', proxies: 'pools.json', alerts: '/etc/alerts.json' },
      ...{ cacheDir: 'cache', cache: true, pool: ['dc', 'home'] },
    }
    put('shoal.config.json', JSON.stringify(settings))
    const folder = dirname(put('spiders/shop.ts'))
    expect(await settingsOf({ folder })).toMatchObject({
      ...{ queue: 'sqlite:../data/a.db', store: 'sqlite:../data/a.db', pages: 'files:../pages' },
      ...{ proxies: '../pools.json', alerts: '/etc/alerts.json', cache: { folder: '../cache' }, pool: ['dc', 'home'] },
    })
    put(
      'shoal.config.json',
      JSON.stringify({ queue: 'redis://q', proxies: 'http://a:1,http://b:2', browser: 'chromium' }),
    )
    expect(await settingsOf({ folder })).toMatchObject({
      ...{ queue: 'redis://q', proxies: 'http://a:1,http://b:2', browser: 'chromium' },
    })
  })

  it('is refused with the name of what is wrong and the one that was probably meant', async () => {
    const cases: [text: string, flags: Record<string, string>, message: string][] = [
      ['{ "queu": "x" }', {}, "shoal.config.json: unknown option 'queu', did you mean 'queue'?"],
      ['{ "environment": {} }', {}, "shoal.config.json: unknown option 'environment', did you mean 'environments'?"],
      [
        '{ "environments": { "ci": { "worker": 1 } } }',
        {},
        "shoal.config.json: environments.ci: unknown option 'worker', did you mean 'workers'?",
      ],
      ['{ "workers": "many" }', {}, 'shoal.config.json: workers: expected a whole number from 1 to 1024'],
      [
        '{ "environments": { "ci": { "grace": "soon" } } }',
        { env: 'ci' },
        "shoal.config.json: environments.ci.grace: 'soon' is not a duration",
      ],
      ['{ "environments": { "ci": {} } }', { env: 'c1' }, "there is no environment 'c1', did you mean 'ci'?"],
      ['{}', { env: 'constructor' }, "there is no environment 'constructor'"],
      ['{ "environments": [] }', {}, 'shoal.config.json: environments: expected an object'],
      ['{ "environments": { "ci": 1 } }', {}, 'environments.ci: expected an object with settings'],
      ['[]', {}, 'shoal.config.json: expected an object: export default defineConfig'],
      ['{ "token": "0123456789abcdef" }', {}, 'shoal.config.json: token: '],
      ['{ "json": true }', {}, "unknown option 'json'"],
      ['{ "env": "ci" }', {}, "unknown option 'env'"],
      ['{', {}, 'shoal.config.json: '],
    ]
    for (const [text, flags, message] of cases) {
      put('shoal.config.json', text)
      const error = await refusal({ flags })
      expect([text, error?.message]).toEqual([text, expect.stringContaining(message)])
      expect(['config_invalid', 'bad_duration']).toContain(error?.code)
    }
    expect((await refusal({ flags: { config: 'none.ts' } }))?.message).toBe('none.ts: there is no such file')
  })

  it('that cannot be loaded is named with the line', async () => {
    put('shoal.config.ts', "export default {\n  queue: 'memory:'\n  workers: 1 }")
    expect((await refusal())?.message).toMatch(/^shoal\.config\.ts:3:\d+: /)
    put('shoal.config.ts', "throw new Error('no vault')")
    expect((await refusal())?.message).toMatch(/^shoal\.config\.ts:1:\d+: .*no vault/)
    put('shoal.config.ts', 'export const queue = 1')
    expect((await refusal())?.message).toContain('expected an object')
    // One that must be fetched first is awaited.
    put('shoal.config.ts', "export default Promise.resolve({ queue: 'memory:' })")
    expect((await settingsOf()).queue).toBe('memory:')
  })

  it('refuses a setting that is undefined, where it counts: its variable is not set', async () => {
    put(
      'shoal.config.js',
      'export default { queue: "memory:", environments: { production: { queue: process.env.NOBODY_SETS_THIS } } }',
    )
    expect((await settingsOf()).queue).toBe('memory:')
    expect(await refusal({ flags: { env: 'production' } })).toMatchObject({
      ...{ code: 'config_invalid', message: 'shoal.config.js: environments.production.queue: is undefined' },
      hint: expect.stringContaining('set that variable'),
    })
    // A flag takes its place.
    expect((await settingsOf({ flags: { env: 'production', queue: 'redis://q' } })).queue).toBe('redis://q')
  })

  it('must be there for an environment', async () => {
    expect((await refusal({ env: { SHOAL_ENV: 'production' } }))?.message).toContain(
      "there is no environment 'production': no shoal.config.ts in",
    )
  })

  it('has a type with exactly the settings that it may have', () => {
    expectTypeOf<keyof SettingsDefinition>().toEqualTypeOf<(typeof FILE_KEYS)[number]>()
    const config = { queue: 'memory:', environments: { ci: { proxies: null } } }
    expect(defineConfig(config)).toBe(config)
  })
})
