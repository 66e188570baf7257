import { describe, expect, it } from 'vitest'
import { asShoalError } from '../../src/errors.js'
import type { Log } from '../../src/log.js'
import { defineSpider } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'
import { secret } from '../../src/spider/secret-reference.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import { maskedLog, openSecrets, type Secrets } from '../../src/worker/secrets.js'

const API = 'https://api.example'
const KEY = 'k3y"&/canary'

function opened(value: string = KEY): Secrets {
  const secrets = openSecrets('shop', [{ name: 'apiKey', env: 'API_KEY', origins: [API] }], { API_KEY: value })
  if (secrets === null) throw new Error('there is one')
  return secrets
}

function refusalOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    const { code, message } = asShoalError(error)
    return `${code}: ${message}`
  }
  return 'none'
}

const spiderWith = (options: object) =>
  spiderFromDefinition(
    defineSpider({ name: 'shop', start: ['https://shop.example/'], routes: { page: { match: '**' } }, ...options }),
  )

describe('a reference to a secret', () => {
  it('is filled in where the request goes to an origin of the secret', () => {
    const body = `{"key":"${secret('apiKey', 'json')}"}&k=${secret('apiKey', 'url')}`
    const headers = { authorization: `Bearer ${secret('apiKey')}`, basic: secret('apiKey', 'base64'), plain: 'x' }
    expect(opened().fill({ url: `${API}/items?page=2`, headers, body }, {})).toEqual({
      url: `${API}/items?page=2`,
      headers: {
        authorization: `Bearer ${KEY}`,
        basic: Buffer.from(KEY).toString('base64'),
        plain: 'x',
      },
      body: `{"key":"k3y\\"&/canary"}&k=${encodeURIComponent(KEY)}`,
    })
  })

  it.each([
    'http://api.example/',
    'https://api.example:444/',
    'https://api.example.evil.example/',
    'https://evil.example/?https://api.example',
    'https://www.api.example/',
  ])('goes nowhere else: not to %s', (url) => {
    const text = secret('apiKey')
    expect(refusalOf(() => opened().fill({ url, headers: { authorization: text } }, {}))).toMatch(/^secret_refused: /)
    expect(refusalOf(() => opened().fill({ url, body: text }, {}))).toMatch(/^secret_refused: /)
    expect(refusalOf(() => opened().fill({ url, body: text }, {}))).not.toContain('canary')
  })

  it('in a header of the spider is left out elsewhere, and pages of other hosts are fetched', () => {
    const defaults = { 'x-key': secret('apiKey'), accept: 'text/html' }
    const request = { url: 'https://shop.example/', headers: { 'user-agent': 'Shoal', ...defaults } }
    expect(opened().fill(request, defaults).headers).toEqual({ 'user-agent': 'Shoal', accept: 'text/html' })
    expect(opened().fill({ ...request, url: `${API}/` }, defaults).headers).toMatchObject({ 'x-key': KEY })
  })

  it('that does not exist is an error, not text for the site', () => {
    const send = () => opened().fill({ url: API, headers: { a: secret('apikey') } }, {})
    expect(refusalOf(send)).toBe("secret_refused: the spider has no secret 'apikey', did you mean 'apiKey'?")
    expect(refusalOf(() => secret('a b'))).toMatch(/^spider_invalid: /)
    expect(refusalOf(() => secret('a}}{{secret.b'))).toMatch(/^spider_invalid: /)
    expect(refusalOf(() => spiderWith({ headers: { a: secret('nope') } }))).toMatch(
      /^spider_invalid: headers.a: the spider has no secret 'nope'/,
    )
  })

  it('identifies a link, whatever the value', () => {
    const request = { headers: { authorization: secret('apiKey') } }
    expect(fingerprint(API, { request })).toBe(
      fingerprint(API, { request: { headers: { authorization: '{{secret.apiKey}}' } } }),
    )
  })
})

describe('the value of a secret', () => {
  const secrets = [{ name: 'apiKey', env: 'API_KEY', origins: [API] }]

  it('must be there when a command starts, and is not shown', () => {
    const missing = 'secret_missing: shop: the environment variable API_KEY of the secret'
    expect(refusalOf(() => openSecrets('shop', secrets, {}))).toBe(`${missing} 'apiKey' is not set or empty`)
    expect(refusalOf(() => openSecrets('shop', secrets, { API_KEY: '' }))).toContain('is not set or empty')
    expect(refusalOf(() => openSecrets('shop', secrets, { API_KEY: 'canary\n' }))).toContain('contains a line break')
    expect(refusalOf(() => openSecrets('shop', secrets, { API_KEY: 'canary\n' }))).not.toContain('canary')
    expect(openSecrets('shop', [], {})).toBeNull()
  })

  it('that no header can have is an error of the page', () => {
    const send = () => opened('日本語の鍵').fill({ url: API, headers: { a: secret('apiKey') } }, {})
    expect(refusalOf(send)).toMatch(/^secret_refused: the header a /)
  })

  it('is not in a log line, in none of its forms', () => {
    const seen: unknown[] = []
    const keep = (_event: string, fields?: object) => void seen.push(fields)
    const log: Log = {
      verbose: true,
      debug: keep,
      info: keep,
      warn: keep,
      error: keep,
      spider: (_level, event, fields) => keep(event, fields),
    }
    const echo = `https://x.example/?k=${KEY}&u=${encodeURIComponent(KEY)}&b=${Buffer.from(KEY).toString('base64')}`
    maskedLog(log, opened()).info('fetch.failed', { url: echo, attempt: 1 })
    expect(seen).toEqual([{ url: 'https://x.example/?k=***&u=***&b=***', attempt: 1 }])
  })
})

describe('the definition of a secret', () => {
  it.each([
    [{ env: 'API_KEY', origins: ['https://api.example/v1'] }, 'secrets.apiKey.origins[0]: expected an origin like'],
    [{ env: 'API_KEY', origins: ['api.example'] }, 'expected an origin like'],
    [{ env: 'API_KEY', origins: ['https://u:p@api.example'] }, 'expected an origin like'],
    [{ env: 'API_KEY', origins: [] }, 'needs at least one origin'],
    [{ env: 'API_KEY' }, 'secrets.apiKey.origins'],
    [{ env: 'API KEY', origins: [API] }, 'expected the name of an environment variable'],
    [{ env: 'SHOAL_TOKEN', origins: [API] }, 'reserved'],
  ])('%j is refused', (apiKey, why) => {
    expect(refusalOf(() => spiderWith({ secrets: { apiKey } }))).toContain(why)
  })

  it('has origins in one spelling', () => {
    const origins = ['HTTPS://API.example:443/', 'http://api.example:8080']
    expect(spiderWith({ secrets: { apiKey: { env: 'API_KEY', origins } } }).secrets).toEqual([
      { name: 'apiKey', env: 'API_KEY', origins: ['https://api.example', 'http://api.example:8080'] },
    ])
  })
})
