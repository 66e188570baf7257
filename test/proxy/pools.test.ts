import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { Pool } from '../../src/proxy/pool.js'
import { chosenPools, loadPools, poolNamed } from '../../src/proxy/pools.js'
import type { PoolProxy } from '../../src/proxy/proxy.js'
import { tempDir } from '../support/cli.js'

const dir = tempDir('pools')
afterAll(() => dir.remove())

let files = 0
function written(content: unknown): string {
  const path = join(dir.path, `pools-${files++}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const load = (content: unknown, env: Record<string, string> = {}): Pool[] => loadPools(written(content), env)

function refusal(content: unknown, env: Record<string, string> = {}): string {
  try {
    load(content, env)
  } catch (error) {
    if (error instanceof ShoalError) return error.message.replace(/^pools-\d+\.json: /, '')
    throw error
  }
  throw new Error('it was accepted')
}

const ids = (pool: Pool | undefined) => pool?.proxies.map(({ id }) => id)
function proxyOf(proxy: PoolProxy | undefined) {
  return proxy?.via.by === 'proxy' ? proxy.via.proxy : null
}

describe('where pools come from', () => {
  it('nowhere', () => expect(loadPools(null, {})).toEqual([]))

  it('a list of URLs, as other programs have it', () => {
    const [pool, ...others] = loadPools('http://anna:p%40ss@10.0.0.1:8000, socks5://10.0.0.2\nhttps://px.example', {})
    expect(others).toEqual([])
    expect(pool).toMatchObject({ name: 'default', kind: 'datacenter' })
    expect(pool?.proxies.map(proxyOf)).toEqual([
      { protocol: 'http', host: '10.0.0.1', port: 8000, username: 'anna', password: 'p@ss' },
      { protocol: 'socks5', host: '10.0.0.2', port: 1080, username: '', password: '' },
      { protocol: 'https', host: 'px.example', port: 443, username: '', password: '' },
    ])
  })

  it('a file with one a line, by its path or as a reference', () => {
    const path = written('# bought in May\nhttp://a:1\n\n  http://[2001:db8::1]:3128/  \r\nhttp://a:1\n')
    expect(ids(loadPools(path, {})[0])).toEqual(['a:1', '[2001:db8::1]:3128'])
    expect(ids(loadPools(`file:${path}`, {})[0])).toEqual(['a:1', '[2001:db8::1]:3128'])
  })

  it('a file with pools, with what each kind brings along', () => {
    const [dc, home, own] = load({
      datacenter: { entries: ['http://a:1', { url: 'http://b:2', weight: 3, country: 'US', cost: { perRequest: 1 } }] },
      home: { kind: 'residential', country: 'DE', cost: { perGb: 4 }, entries: ['socks5h://c:3'] },
      own: { entries: ['http://d:4'], rest: { first: '1min', strikes: 5 }, rotation: { requests: 7, time: '2min' } },
    })
    expect(dc).toMatchObject({ kind: 'datacenter', rest: { strikes: 2, baseMs: 600_000, capMs: 7_200_000 } })
    expect(dc?.proxies[1]).toMatchObject({ weight: 3, country: 'us', cost: { perRequest: 1, perGb: 0 } })
    expect(home).toMatchObject({ kind: 'residential', rest: { baseMs: 1_800_000, capMs: 21_600_000 } })
    expect(home?.proxies[0]).toMatchObject({ country: 'de', cost: { perRequest: 0, perGb: 4 } })
    expect(own).toMatchObject({ kind: 'own', rest: { strikes: 5, baseMs: 60_000, capMs: 7_200_000 } })
    expect(own?.rotation).toEqual({ requests: 7, timeMs: 120_000 })
    expect((home?.rotation.timeMs ?? 0) > (dc?.rotation.timeMs ?? 0)).toBe(true)
  })
})

describe('secrets', () => {
  it('are in the environment or in files next to it', () => {
    mkdirSync(join(dir.path, 'secrets'), { recursive: true })
    writeFileSync(join(dir.path, 'secrets/password'), 'from file\n')
    writeFileSync(join(dir.path, 'secrets/list'), 'http://x:1\nhttp://u@y:2\n')
    const pools = load(
      {
        a: { entries: ['http://u@a:1', 'http://u:own@b:2', 'http://c:3'], passwordEnv: 'DC_PASSWORD' },
        b: { entries: 'file:secrets/list', passwordFile: 'secrets/password' },
        c: { entries: 'env:LIST' },
      },
      { DC_PASSWORD: 'from env', LIST: 'http://z:9' },
    )
    const passwords = pools.map(({ proxies }) => proxies.map((proxy) => proxyOf(proxy)?.password))
    expect(passwords).toEqual([['from env', 'own', ''], ['', 'from file'], ['']])
    expect(ids(pools[2])).toEqual(['z:9'])
  })

  it('that are missing are reported by the name of their place', () => {
    const entries = ['http://u@a:1']
    expect(refusal({ a: { entries, passwordEnv: 'DC_PASSWORD' } })).toBe('a.passwordEnv: DC_PASSWORD is not set')
    expect(refusal({ a: { entries, passwordFile: 'nowhere' } })).toBe('a.passwordFile: there is no such file')
    expect(refusal({ a: { entries: 'env:LIST' } })).toBe('a.entries: LIST is empty')
  })

  it('are in no id and in no error, whatever is wrong', () => {
    const bad = [
      { a: { entries: ['http://u:s3cret@'] } },
      { a: { entries: ['htp://u:s3cret@host:1'] } },
      { a: { entries: ['http://u:s3cret@host:1/path'] } },
      { a: { entries: ['http://u:s3cret%@host:1'] } },
      { a: { entries: [{ url: 'http://u:s3cret@host:1', wait: 1 }] } },
      { a: { 'http://u:s3cret@host:1': {} } },
      { 'http://u:s3cret@host:1': {} },
      { a: { entries: 'http://u:s3cret@host:1' } },
      { a: { service: 'gateway', url: 'http://u-{sesion}:s3cret@host:1' } },
      { a: { service: 'wrap', url: 'https://api.example/?key=s3cret' } },
      { a: { service: 's3cret', url: '' } },
      '{ "a": { "entries": [ "http://u:s3cret@host:1" "http://u:s3cret@host:2" ] } }',
      '{ "s3cret" }',
      'http://u:s3cret@host:1\nu:s3cret@host',
    ]
    for (const content of bad) expect(refusal(content)).not.toContain('s3cret')
    const [pool] = load({ a: { entries: ['http://s3cret:s3cret@host:1', 'http://s3cretly:s3cret@host:1'] } })
    expect(JSON.stringify(ids(pool))).not.toContain('s3cret')
  })
})

describe('what a proxy is called', () => {
  it('by host and port; by a tag of the user where several share them; by its name', () => {
    const [pool] = load({
      a: {
        entries: ['http://u1:p@h:1', 'http://u2:p@h:1', 'http://u1:p@i:1', { url: 'http://u3:p@h:1', name: 'best' }],
      },
    })
    expect(ids(pool)).toEqual([
      expect.stringMatching(/^h:1~[0-9a-f]{8}$/),
      expect.stringMatching(/^h:1~[0-9a-f]{8}$/),
      'i:1',
      'best',
    ])
    expect(new Set(ids(pool)).size).toBe(4)
    expect(refusal({ a: { entries: ['http://u:p@h:1', 'http://u:q@h:1'] } })).toMatch(/^a.entries\[1\]: another entry/)
  })

  it('the same on every machine, whatever the order', () => {
    const urls = ['http://u1:p@h:1', 'http://u2:p@h:1', 'http://i:1', 'socks5://h:1']
    fc.assert(
      fc.property(fc.shuffledSubarray(urls, { minLength: urls.length }), (shuffled) => {
        const [a] = loadPools(urls.join(' '), {})
        const [b] = loadPools(shuffled.join(','), {})
        expect(ids(b)?.toSorted()).toEqual(ids(a)?.toSorted())
      }),
    )
  })
})

describe('services', () => {
  it('a gateway: every session and country is a proxy', () => {
    const url = 'http://user-session-{session}-country-{country}:{password}@gw.example:8000'
    const gateway = { service: 'gateway', url, sessions: 2, countries: ['de', 'fr'], passwordEnv: 'GW' }
    const [pool] = load({ gw: { ...gateway, kind: 'residential' } }, { GW: 'p@:ss' })
    expect(ids(pool)).toEqual(['de-1', 'de-2', 'fr-1', 'fr-2'].map((tail) => `gw.example:8000#${tail}`))
    expect(pool?.proxies.map(({ country }) => country)).toEqual(['de', 'de', 'fr', 'fr'])
    const users = pool?.proxies.map((proxy) => proxyOf(proxy)?.username ?? '') ?? []
    expect(users[0]).toMatch(/^user-session-[0-9a-f]{10}-country-de$/)
    expect(new Set(users).size).toBe(4)
    expect(proxyOf(pool?.proxies[0])?.password).toBe('p@:ss')
    expect(load({ gw: { ...gateway, kind: 'residential' } }, { GW: 'x' })[0]?.proxies.map(proxyOf)).toMatchObject(
      users.map((username) => ({ username })),
    )
  })

  it('a wrapping service is given the URL as a parameter', () => {
    const url = 'https://api.example/v1?key={key}&url={url}&country={country}'
    const [pool] = load(
      { api: { service: 'wrap', url, country: 'de', keyEnv: 'K', cost: { perRequest: 0.001 } } },
      { K: 'a&b' },
    )
    expect(ids(pool)).toEqual(['api.example#de'])
    const via = pool?.proxies[0]?.via
    expect(via?.by === 'wrap' ? via.wrap('https://shop.example/?q=a&b=ü') : null).toBe(
      'https://api.example/v1?key=a%26b&url=https%3A%2F%2Fshop.example%2F%3Fq%3Da%26b%3D%C3%BC&country=de',
    )
  })

  it.each([
    [
      { service: 'gateway', url: 'http://u:{password}@g:1', sessions: 1 },
      'gw: {password} needs passwordEnv or passwordFile',
    ],
    [{ service: 'gateway', url: 'http://u:p@g:1', sessions: 2 }, 'gw.url: several sessions need {session} in it'],
    [{ service: 'gateway', url: 'http://u-{session}-{country}@g:1' }, 'gw: {country} needs country or countries'],
    [
      { service: 'gateway', url: 'http://u-{session}@g:1', countries: ['de'] },
      'gw.url: countries need {country} in it',
    ],
    [{ service: 'wrap', url: 'https://a.example/?u={ulr}' }, expect.stringContaining('another placeholder')],
    [{ service: 'wrap', url: 'https://a.example/' }, 'gw.url: {url} is missing: where the wanted URL goes'],
    [{ service: 'wrap', url: 'ftp://a.example/{url}' }, 'gw.url: expected an http or https URL'],
    [
      { service: 'wrap', url: 'https://{key}.api.example/?url={url}', keyEnv: 'SECRET' },
      'gw.url: {key} is a secret and must not be part of a host name',
    ],
    [
      { service: 'gateway', url: 'http://u@{password}.gate.example:1', passwordEnv: 'SECRET' },
      'gw.url: {password} is a secret and must not be part of a host name',
    ],
    [{ service: 'tor', url: 'x' }, "gw.service: expected 'wrap' or 'gateway'"],
  ])('%j is refused', (gw, message) => {
    expect(refusal({ gw }, { SECRET: 's3cret' })).toEqual(message)
  })
})

it.each([
  ['{', expect.stringMatching(/^it is not JSON/)],
  [{}, 'there is no pool in it'],
  ['# nothing\n', 'there is no proxy in it'],
  [{ a: { entries: [] } }, expect.stringMatching(/^a\.entries: /)],
  [{ a: { entries: ['10.0.0.1:8000'] } }, expect.stringMatching(/^a\.entries\[0\]: expected http:\/\//)],
  [{ a: { entires: ['http://a:1'] } }, expect.stringContaining('a')],
  [{ a: { entries: ['http://a:1'], cots: {} } }, "a: unknown option 'cots', did you mean 'cost'?"],
  [{ a: { entries: ['http://a:1'], country: 'deu' } }, 'a.country: expected the two letters of a country'],
  [{ a: { entries: ['http://a:1'], rest: { first: 5 } } }, 'a.rest.first: 5 is not a duration'],
  [{ a: { entries: [{ url: 'http://a:1', weight: 0 }] } }, expect.stringMatching(/^a\.entries\[0\]\.weight: /)],
])('%j is reported in one line', (content, message) => {
  expect(refusal(content)).toEqual(message)
})

it('a worker takes some of the pools, and of them a country', () => {
  const pools = load({
    a: { entries: ['http://a:1', { url: 'http://b:1', country: 'de' }] },
    b: { country: 'fr', entries: ['http://c:1'] },
  })
  expect(chosenPools(pools, null, null)).toEqual(pools)
  expect(chosenPools(pools, ['b'], null).map(({ name }) => name)).toEqual(['b'])
  expect(chosenPools(pools, null, 'de').map(ids)).toEqual([['b:1']])
  expect(() => chosenPools(pools, ['c'], null)).toThrow("there is no pool 'c'")
  expect(() => chosenPools(pools, null, 'es')).toThrow("no pool has a proxy in the country 'es'")
  expect(() => poolNamed([], 'a')).toThrow('no proxies were given')
})
