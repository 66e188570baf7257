import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../src/config.js'
import { ShoalError } from '../src/errors.js'
import { parseAddress } from '../src/redis/address.js'
import { addressLines } from '../src/run/address-lines.js'
import { secretIn } from '../src/secret-file.js'
import { withPassword } from '../src/server-password.js'
import { openSecrets } from '../src/worker/secrets.js'

const folder = mkdtempSync(join(tmpdir(), 'shoal-secrets-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
function fileWith(content: string | Uint8Array): string {
  const path = join(folder, `secret-${files++}`)
  writeFileSync(path, content)
  return path
}

const load = (env: Record<string, string>, flags: Record<string, unknown> = {}) => loadConfig({ flags, env })

function refusal(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof ShoalError) return `${error.code}: ${error.message} | ${error.hint}`
    throw error
  }
  throw new Error('was accepted')
}

describe('settings from files', () => {
  it('reads every setting that may hold a secret from the file that <NAME>_FILE names', () => {
    const settings = load({
      SHOAL_QUEUE_FILE: fileWith('redis://:s3cret@queue:6379\n'),
      SHOAL_STORE_FILE: fileWith('postgres://shoal:s3cret@store/shoal\r\n'),
      SHOAL_PAGES_FILE: fileWith('s3://pages/raw'),
      SHOAL_TOKEN_FILE: fileWith('0123456789abcdef\n\n'),
    })
    expect(settings).toMatchObject({
      queue: 'redis://:s3cret@queue:6379',
      store: 'postgres://shoal:s3cret@store/shoal',
      pages: 's3://pages/raw',
      token: '0123456789abcdef',
      origins: { queue: 'SHOAL_QUEUE_FILE', store: 'SHOAL_STORE_FILE' },
    })
    expect(addressLines(settings)).toEqual([
      'queue redis://:***@queue:6379 (from SHOAL_QUEUE_FILE), records postgres://shoal:***@store/shoal (from SHOAL_STORE_FILE)',
    ])
  })

  it('leaves settings that are files already as they are: the variable names the file, whichever of the two it is', () => {
    expect(load({ SHOAL_PROXIES_FILE: '/run/secrets/proxies', SHOAL_ALERTS_FILE: 'alerts.json' })).toMatchObject({
      ...{ proxies: '/run/secrets/proxies', alerts: 'alerts.json' },
    })
  })

  it('keeps the order: the flag, the variables of Shoal, the config file, those of other programs', () => {
    const file = fileWith('redis://in-the-file')
    expect(load({ SHOAL_QUEUE_FILE: file }, { queue: 'redis://flag' }).queue).toBe('redis://flag')
    // A file that is not used is not read either.
    expect(load({ SHOAL_QUEUE_FILE: '/nowhere' }, { queue: 'redis://flag' }).queue).toBe('redis://flag')
    expect(load({ SHOAL_QUEUE_FILE: file, REDIS_URL: 'redis://other' }).queue).toBe('redis://in-the-file')
    const values = new Map([
      ['queue', { value: 'redis://config', from: 'shoal.config.ts', path: 'shoal.config.ts: queue' }],
    ])
    expect(loadConfig({ flags: {}, env: { SHOAL_QUEUE_FILE: file }, file: { values } }).queue).toBe(
      'redis://in-the-file',
    )
    expect(loadConfig({ flags: {}, env: { REDIS_URL_FILE: file }, file: { values } }).queue).toBe('redis://config')
  })

  it('reads REDIS_URL_FILE and DATABASE_URL_FILE as it reads REDIS_URL and DATABASE_URL', () => {
    const settings = load({
      REDIS_URL_FILE: fileWith('redis://queue\n'),
      DATABASE_URL_FILE: fileWith('postgres://u:s3cret@db/app\n'),
    })
    expect(settings).toMatchObject({ queue: 'redis://queue', store: 'postgres://u:s3cret@db/app' })
    expect(addressLines(settings)[0]).toContain('(from DATABASE_URL_FILE); set SHOAL_QUEUE and SHOAL_STORE')
    const mysql = load({ DATABASE_URL_FILE: fileWith('mysql://u:s3cret@db/app') })
    expect(mysql.origins).toEqual({ queue: null, store: null, skipped: ['DATABASE_URL_FILE'] })
    expect(addressLines(mysql)).toEqual(['DATABASE_URL_FILE is ignored: it is not a postgres:// address'])
    // Whoever names a file for the queue keeps the records in it, whatever another program was given.
    expect(load({ DATABASE_URL_FILE: fileWith('postgres://db/app') }, { queue: 'sqlite:my.db' }).store).toBe(
      'sqlite:my.db',
    )
  })

  it('refuses what cannot be meant, with the variable and the next step, and shows nothing of the content', () => {
    const link = join(folder, 'loop')
    symlinkSync(link, link)
    const long = `/${'x'.repeat(5_000)}`
    for (const [path, fault] of [
      [join(folder, 'missing'), 'does not exist'],
      [join(folder, 'missing', 'deeper'), 'does not exist'],
      [folder, 'is a folder | Name the file in it. Docker creates a folder'],
      [fileWith(''), 'is empty'],
      [fileWith('\r\n\n'), 'is empty'],
      [fileWith('s3cret'.repeat(20_000)), 'is larger than 64 KB'],
      [fileWith(new Uint8Array([0xff, 0xfe, 0x73, 0])), 'is not UTF-8 text'],
      [fileWith('s\0e\0c\0'), 'has several lines or a control character'],
      [fileWith('SHOAL_TOKEN=s3cret\nSHOAL_STORE=s3cret'), 'has several lines'],
      ['/dev/zero', 'is not a regular file'],
      [link, 'cannot be read (ELOOP)'],
      [long, 'cannot be read (ENAMETOOLONG)'],
    ] as const) {
      const said = refusal(() => load({ SHOAL_STORE_FILE: path }))
      expect(said).toMatch(/^config_invalid: SHOAL_STORE_FILE: the file \//)
      expect(said).toContain(fault)
      expect(said).not.toContain('s3cret')
    }
  })

  it('does not repeat a secret that somebody wrote where the path belongs', () => {
    for (const secret of ['postgres://shoal:s3cret@db/shoal', 's3cret-0123456789', 's3cret/with/slashes', 'a\0b'])
      expect(refusal(() => load({ SHOAL_TOKEN_FILE: secret }))).toMatch(
        /^config_invalid: SHOAL_TOKEN_FILE: the file that it names .* The variable holds the path of a file/s,
      )
    expect(refusal(() => load({ SHOAL_STORE_FILE: '/s3cret://x' }))).not.toContain('s3cret')
  })

  it('refuses two sources of one setting; an empty one is none', () => {
    const file = fileWith('0123456789abcdef')
    expect(refusal(() => load({ SHOAL_TOKEN: 's3cret-0123456789', SHOAL_TOKEN_FILE: file }))).toBe(
      'config_invalid: both SHOAL_TOKEN and SHOAL_TOKEN_FILE are set | Set one of them, and remove or empty the other.',
    )
    expect(refusal(() => load({ SHOAL_PROXIES: 'a.txt', SHOAL_PROXIES_FILE: 'b.txt' }))).toMatch(
      /both SHOAL_PROXIES and/,
    )
    expect(load({ SHOAL_TOKEN: '', SHOAL_TOKEN_FILE: file }).token).toBe('0123456789abcdef')
    expect(load({ SHOAL_TOKEN: '0123456789abcdef', SHOAL_TOKEN_FILE: '' }).token).toBe('0123456789abcdef')
    // Whoever set it believes that there is a token.
    expect(refusal(() => load({ SHOAL_TOKEN_FILE: '' }))).toContain('SHOAL_TOKEN_FILE is empty')
    expect(load({ SHOAL_QUEUE_FILE: '' }).origins.queue).toBeNull()
  })

  it('checks the content like any value', () => {
    expect(refusal(() => load({ SHOAL_TOKEN_FILE: fileWith('short') }))).toMatch(
      /^config_invalid: SHOAL_TOKEN_FILE: must have at least 16 characters/,
    )
  })

  it('says which settings come from files when another one is asked for', () => {
    expect(refusal(() => load({ SHOAL_WORKERS_FILE: '/etc/workers' }))).toMatch(
      /unknown environment variable 'SHOAL_WORKERS_FILE'.* \| From a file: SHOAL_QUEUE_FILE, SHOAL_STORE_FILE/,
    )
    expect(refusal(() => load({ SHOAL_TOKEN_FIEL: 'x' }))).toContain("did you mean 'SHOAL_TOKEN_FILE'?")
  })

  it('finds the secrets of spiders in files too', () => {
    const secret = { name: 'login', env: 'SHOP_LOGIN', origins: ['https://shop.example'] }
    const env = { SHOP_LOGIN_FILE: fileWith('s3cret-value\n') }
    expect(openSecrets('shop', [secret], env)?.masked('is s3cret-value')).toBe('is ***')
    expect(refusal(() => openSecrets('shop', [secret], { SHOP_LOGIN_FILE: '/nowhere' }))).toContain(
      'SHOP_LOGIN_FILE: the file /nowhere does not exist',
    )
    expect(secretIn('SHOP_LOGIN', {})).toBeNull()
  })
})

describe('passwords that are not part of an address', () => {
  it('completes the address, whatever characters the password has', () => {
    const password = 'p@ss/w:o%rd#1?&é'
    const env = { SHOAL_QUEUE_PASSWORD_FILE: fileWith(`${password}\n`), SHOAL_STORE_PASSWORD: password }
    const { queue, store } = load({
      ...env,
      SHOAL_QUEUE: 'redis://queue/2',
      SHOAL_STORE: 'postgres://shoal@db:5432/shoal',
    })
    expect(parseAddress(queue)).toMatchObject({
      servers: [{ host: 'queue', port: 6379 }],
      login: { credentials: { password }, database: 2 },
    })
    const url = new URL(store)
    expect([url.username, decodeURIComponent(url.password), url.host]).toEqual(['shoal', password, 'db:5432'])
    expect(addressLines(load({ ...env, SHOAL_QUEUE: 'redis://queue' })).join()).not.toContain('ss')
  })

  it('knows every form of an address', () => {
    expect(withPassword('redis+cluster://a:1,b:2', 'x')).toBe('redis+cluster://:x@a:1,b:2')
    expect(withPassword('redis+sentinel://ann@s1:26379,s2/main/2', 'x')).toBe(
      'redis+sentinel://ann:x@s1:26379,s2/main/2',
    )
    expect(withPassword('rediss://ann:@h?ca=a@b.pem', 'x')).toBe('rediss://ann:x@h?ca=a@b.pem')
    expect(withPassword('redis://ann:pw@h', 'x')).toBeNull()
    expect(withPassword('redis://:pw@h', 'x')).toBeNull()
  })

  it('is not needed for a file, gives way to the command line, and never guesses between two', () => {
    const env = { SHOAL_STORE_PASSWORD: 's3cret', SHOAL_QUEUE_PASSWORD: 's3cret' }
    expect(load(env)).toMatchObject({ queue: 'sqlite:.shoal/shoal.db', store: 'sqlite:.shoal/shoal.db' })
    expect(load(env, { queue: 'memory:' }).queue).toBe('memory:')
    expect(load(env, { store: 'postgres://u:mine@db/app' }).store).toBe('postgres://u:mine@db/app')
    expect(load({ ...env, DATABASE_URL: 'postgres://u@db/app' }).store).toBe('postgres://u:s3cret@db/app')
    const said = refusal(() => load({ ...env, SHOAL_STORE: 'postgres://u:other@db/app' }))
    expect(said).toMatch(
      /^config_invalid: SHOAL_STORE_PASSWORD is set, and the address in SHOAL_STORE has a password too/,
    )
    expect(said).not.toMatch(/s3cret|other/)
  })
})
