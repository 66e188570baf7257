import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createGuard } from '../../src/api/guard.js'
import { serveDashboard } from '../../src/api/server.js'
import { ManualClock } from '../../src/clock.js'
import { asShoalError } from '../../src/errors.js'
import { CRAWL } from '../cli/seeded-database.js'
import { type CallOptions, callDashboard, errorOf, LADEN, PLANTS, partsOf, SECRETS, served, XSS } from './served.js'

const json = (value: unknown): string => JSON.stringify(value)
const post = (body: string, headers = {}): CallOptions => ({ method: 'POST', body, headers })
const put = (body: unknown): CallOptions => ({ method: 'PUT', body: json(body) })
const PAUSE = `/api/crawls/${CRAWL}/pause`
const LINKS = `/api/crawls/${CRAWL}/links`
const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`

/** What comes, and how it is answered. Everything but the first line of each is otherwise as it should be. */
const CASES: readonly (readonly [what: string, path: string, CallOptions, status: number, code: string])[] = [
  // Who may come in
  ['no token', '/api/overview', { token: null }, 401, 'token_refused'],
  ['an empty token', '/api/overview', { token: '' }, 401, 'token_refused'],
  ['a short token', '/api/overview', { token: 'a', from: '127.0.0.3' }, 401, 'token_refused'],
  ['a wrong token', '/api/overview', { token: 'A'.repeat(43), from: '127.0.0.3' }, 401, 'token_refused'],
  ['a token in the address', '/api/overview?token=x', { token: null }, 401, 'token_refused'],
  [
    'another kind of token',
    '/api/overview',
    { token: null, headers: { authorization: 'Basic eDp4' } },
    401,
    'token_refused',
  ],
  ['no token for events', '/api/events', { token: null }, 401, 'token_refused'],
  ['no token for metrics', '/metrics', { token: null }, 401, 'token_refused'],
  ['no token for the description', '/api/openapi.json', { token: null }, 401, 'token_refused'],
  // From where
  ['a foreign Origin', PAUSE, post('{}', { origin: 'https://evil.example' }), 403, 'request_refused'],
  ['the Origin null', PAUSE, post('{}', { origin: 'null' }), 403, 'request_refused'],
  ['a foreign Origin on a GET', '/api/overview', { headers: { origin: 'http://localhost:1' } }, 403, 'request_refused'],
  ['a cross-site request', PAUSE, post('{}', { 'sec-fetch-site': 'cross-site' }), 403, 'request_refused'],
  ['a same-site request', '/api/overview', { headers: { 'sec-fetch-site': 'same-site' } }, 403, 'request_refused'],
  ['cross-site events', '/api/events', { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'request_refused'],
  [
    'a preflight',
    '/api/crawls',
    { method: 'OPTIONS', headers: { origin: 'https://evil.example' } },
    403,
    'request_refused',
  ],
  ['a plain text', PAUSE, post('{}', { 'content-type': 'text/plain' }), 403, 'request_refused'],
  ['a form', PAUSE, post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }), 403, 'request_refused'],
  [
    'a form with files',
    PAUSE,
    post('{}', { 'content-type': 'multipart/form-data; boundary=x' }),
    403,
    'request_refused',
  ],
  ['a foreign Host', '/api/overview', { headers: { host: 'evil.example' } }, 403, 'request_refused'],
  ['a foreign Host with our port', '/api/overview', { headers: { host: 'evil.example:7373' } }, 403, 'request_refused'],
  ['a foreign Host for events', '/api/events', { headers: { host: 'evil.example' } }, 403, 'request_refused'],
  ['a foreign Host for the page', '/', { headers: { host: 'evil.example' }, token: null }, 403, 'request_refused'],
  ['loopback with another port', '/api/overview', { headers: { host: '127.0.0.1:1' } }, 403, 'request_refused'],
  ['a method of nobody', PAUSE, { method: 'DELETE' }, 403, 'request_refused'],
  // Bodies
  ['no body', PAUSE, { method: 'POST', headers: { 'content-type': 'application/json' } }, 400, 'bad_request'],
  ['no JSON', PAUSE, post('{'), 400, 'bad_request'],
  ['a key of nobody', PAUSE, post(json({ force: true })), 400, 'bad_request'],
  ['__proto__', '/api/crawls', post('{"spider":"shop","fresh":true,"__proto__":{"admin":true}}'), 400, 'bad_request'],
  ['a hidden __proto__', '/api/crawls', post('{"spider":"shop","fresh":{"\\u005f_proto__":1}}'), 400, 'bad_request'],
  ['deep JSON', '/api/crawls', post(deep), 400, 'bad_request'],
  ['100 kB', '/api/crawls', post(json({ spider: 'x'.repeat(100_000), fresh: true })), 400, 'bad_request'],
  ['a number for a name', '/api/crawls', post(json({ spider: 1, fresh: true })), 400, 'bad_request'],
  ['a huge concurrency', '/api/hosts/shop.example', put({ concurrency: 1e9 }), 400, 'bad_request'],
  ['a concurrency of 1.5', '/api/hosts/shop.example', put({ concurrency: 1.5 }), 400, 'bad_request'],
  [
    'a concurrency of 1e400',
    '/api/hosts/shop.example',
    { method: 'PUT', body: '{"concurrency":1e400}' },
    400,
    'bad_request',
  ],
  ['a negative delay', '/api/hosts/shop.example', put({ delayMs: -1 }), 400, 'bad_request'],
  ['a delay as text', '/api/hosts/shop.example', put({ delayMs: '5; DROP TABLE links' }), 400, 'bad_request'],
  ['nothing to set', '/api/hosts/shop.example', put({}), 400, 'bad_request'],
  // Lists
  ['limit=-1', `${LINKS}?limit=-1`, {}, 400, 'bad_request'],
  ['limit=0', `${LINKS}?limit=0`, {}, 400, 'bad_request'],
  ['limit=501', `${LINKS}?limit=501`, {}, 400, 'bad_request'],
  ['limit=1e9', `${LINKS}?limit=1e9`, {}, 400, 'bad_request'],
  ['two limits', `${LINKS}?limit=1&limit=500`, {}, 400, 'bad_request'],
  ['a cursor of nobody', `${LINKS}?after=AAAA`, {}, 400, 'bad_request'],
  ['a cursor with SQL', `${LINKS}?after=${encodeURIComponent('1 OR 1=1 --')}`, {}, 400, 'bad_request'],
  [
    'an order with SQL',
    `/api/crawls/${CRAWL}/hosts?order=${encodeURIComponent('name;DROP TABLE x')}`,
    {},
    400,
    'bad_request',
  ],
  ['LIKE signs in a host', `/api/crawls/${CRAWL}/hosts?begins=${encodeURIComponent('%_')}`, {}, 400, 'bad_request'],
  ['a state of nobody', `${LINKS}?state=${encodeURIComponent("dead' OR '1'='1")}`, {}, 400, 'bad_request'],
  ['an error of nobody', `${LINKS}?code=constructor`, {}, 400, 'bad_request'],
  ['a parameter of nobody', '/api/overview?debug=1', {}, 400, 'bad_request'],
  ['__proto__ as a parameter', '/api/overview?__proto__=1', {}, 400, 'bad_request'],
  ['a search without end', `/api/records?text=${'a'.repeat(300)}`, {}, 400, 'bad_request'],
  // Names
  ...['{shop}', '*', 'a:b', 'a\nb', 'a b', "a'b", 'a"b', XSS, 'a/../b', '\u0000', 'x'.repeat(300)].map(
    (name) =>
      [
        `the crawl ${json(name).slice(0, 30)}`,
        `/api/crawls/${encodeURIComponent(name)}`,
        {},
        400,
        'bad_request',
      ] as const,
  ),
  ...['{shop}', '*', 'a b', 'a\r\nset-cookie: x', XSS, "a'--", '../../etc', '\u202eelpmaxe'].map(
    (name) =>
      [
        `the host ${json(name)}`,
        `/api/hosts/${encodeURIComponent(name)}`,
        put({ delayMs: 1 }),
        400,
        'bad_request',
      ] as const,
  ),
  ['a worker with HTML', `/api/workers/${encodeURIComponent(XSS)}/drain`, post('{}'), 400, 'bad_request'],
  ['a pool with a star', '/api/proxies/d*', {}, 400, 'bad_request'],
  [
    'a fingerprint with a star',
    `${LINKS}/2a7a3046967915*5/retry`,
    post(json({ host: 'shop.example' })),
    400,
    'bad_request',
  ],
  ['a crawl of nobody', '/api/crawls/nobody', {}, 404, 'not_found'],
  ['the series of a crawl of nobody', '/api/crawls/nobody/series', {}, 404, 'not_found'],
  ['a spider of nobody', '/api/crawls', post(json({ spider: 'nobody', fresh: true })), 404, 'not_found'],
  // Files
  ...[
    '/../package.json',
    '/..%2fpackage.json',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/assets/..%5c..%5cx',
    '/....//etc/passwd',
    '//etc/passwd',
    '/%00',
    '/index.html%00.js',
    '/.env',
  ].map((path) => [`the file ${path}`, path, {}, 404, 'not_found'] as const),
  ...[
    '/x/../api/overview',
    '/index.html/../api/overview',
    '/%61pi/overview',
    '/api%2foverview',
    '//api/overview',
    '/./api/overview',
    'http://127.0.0.1/api/overview',
    '/API/overview',
    '/api/overview/',
  ].map((path) => [`no token for ${path}`, path, { token: null }, 401, 'token_refused'] as const),
  ['a path of nobody', '/api/nobody', {}, 404, 'not_found'],
]

describe.each(PLANTS)('on %s', (kind) => {
  const api = served(kind)

  it.each(CASES)('%s', async (_what, path, options, status, code) => {
    const answer = await api.call(path, options)
    expect([answer.status, errorOf(answer).code]).toEqual([status, code])
    expect(errorOf(answer).hint).not.toBe('')
    expect(answer.text).not.toMatch(/\bat .*\.[jt]s:\d+/)
    expect(answer.headers).toMatchObject({
      'content-type': expect.stringMatching(/^application\/json/),
      'x-content-type-options': 'nosniff',
    })
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
    expect(answer.headers).not.toHaveProperty('set-cookie')
  })

  it('nothing of that left a trace', async () => {
    const audit = JSON.parse((await api.call('/api/audit')).text) as { items: { result: string }[] }
    expect(audit.items.filter(({ result }) => result === 'ok')).toEqual([])
    expect(({} as Record<string, unknown>).admin).toBeUndefined()
  })

  it('100 MB are cut early', async () => {
    const sent = api.call('/api/crawls', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': 100_000_000,
        host: `127.0.0.1:${api.dashboard.port}`,
      },
      body: Buffer.alloc(1_000, ' '),
    })
    // The answer comes though 99.9 MB were promised and never sent.
    expect((await sent).status).toBe(400)
  })

  it('a chunked body is cut at 64 KiB', async () => {
    const answer = await api
      .call('/api/crawls', {
        method: 'POST',
        headers: { 'transfer-encoding': 'chunked' },
        body: Buffer.alloc(200_000, ' '),
      })
      .catch((error: NodeJS.ErrnoException) => error.code)
    // Whoever sends on is cut off; how far the answer gets is up to the sockets.
    expect(typeof answer === 'object' && answer !== null ? answer.status : answer).toSatisfy((seen: unknown) =>
      [400, 'ECONNRESET', 'EPIPE'].includes(seen as string),
    )
  })

  it('a text that is a bomb for patterns is looked for as it stands', async () => {
    const bomb = encodeURIComponent('(a+)+$')
    const answer = JSON.parse((await api.call(`/api/records?text=${bomb}`)).text) as { items: unknown[] }
    expect(answer.items).toEqual([])
    const percent = JSON.parse((await api.call('/api/records?text=%25')).text) as { items: unknown[] }
    expect(percent.items).toEqual([])
  })

  it('names with HTML come as JSON text, and no answer holds a secret', async () => {
    const paths = ['overview', 'crawls', `crawls/${CRAWL}`, `crawls/${CRAWL}/hosts`, `crawls/${CRAWL}/links?limit=500`]
    paths.push(`crawls/${CRAWL}/dead`, 'workers', 'proxies', 'proxies/dc', 'records', 'audit', 'alerts')
    paths.push(`crawls/${CRAWL}/explain?url=${encodeURIComponent(LADEN)}`)
    const answers = await Promise.all(paths.map((path) => api.call(`/api/${path}`)))
    for (const answer of answers) {
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toMatch(/^application\/json/)
      expect(answer.headers['cache-control']).toBe('no-store')
      for (const secret of SECRETS) expect(answer.text).not.toContain(secret)
    }
    const workers = JSON.parse(answers[6]?.text ?? '') as { workers: { worker: string }[] }
    expect(workers.workers.map(({ worker }) => worker)).toContain(XSS)
    expect(answers[4]?.text).toContain('/laden')
    expect(answers[0]?.text).toContain(kind === 'sqlite' ? 'sqlite:' : '***')
  })
})

describe('the door', () => {
  const api = served('sqlite')

  it('is shut for an address that tries tokens, and for nobody else', async () => {
    const wrong = { token: 'B'.repeat(43), from: '127.0.0.9' }
    const tries = []
    for (let i = 0; i < 21; i += 1) tries.push((await api.call('/api/overview', wrong)).status)
    expect(tries).toEqual([...Array(20).fill(401), 429])
    expect((await api.call('/api/overview', { from: '127.0.0.9' })).status).toBe(200)
    expect((await api.call('/api/overview')).status).toBe(200)
  })

  it('stays open for the owner, whatever a foreign page sends from the same address', async () => {
    const guard = createGuard({
      allowHosts: [],
      ...{ token: 'a-token-of-16-chars', clock: new ManualClock(), host: '127.0.0.1', port: 80, publicOrigin: null },
      isPage: (path) => path === '/',
    })
    const ask = (path: string, headers: Record<string, string>) => {
      try {
        guard({ method: 'GET', headers, headersDistinct: {}, socket: {} } as unknown as IncomingMessage, path)
        return 'in'
      } catch (error) {
        return asShoalError(error).code
      }
    }
    const owner = { host: 'localhost', origin: 'http://localhost', authorization: 'Bearer a-token-of-16-chars' }
    for (let i = 0; i < 2_000; i += 1) ask('/api/overview', { host: 'evil.example' })
    expect(ask('/api/overview', { host: 'evil.example' })).toBe('too_many_requests')
    for (let i = 0; i < 2_000; i += 1) ask('/', { host: '127.0.0.1:80' })
    expect(ask('/', { host: '127.0.0.1' })).toBe('too_many_requests')
    for (let i = 0; i < 2_000; i += 1) expect(ask('/api/overview', owner)).toBe('in')
    expect(ask('/api/overview', owner)).toBe('too_many_requests')
  })

  it('refuses two names, and one in the request line that is not ours', async () => {
    const { port, token } = api.dashboard
    const ask = async (target: string, hosts: readonly string[]) => {
      const socket = connect(port, '127.0.0.1')
      const named = hosts.map((host) => `Host: ${host}\r\n`).join('')
      socket.write(`GET ${target} HTTP/1.1\r\n${named}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      return Number(answer.split(' ', 2)[1])
    }
    const own = `127.0.0.1:${port}`
    expect(await ask('/api/overview', [own, 'evil.example'])).toBe(400)
    expect(await ask('http://evil.example/api/overview', [own])).toBe(403)
    expect(await ask(`http://${own}/api/overview`, [own])).toBe(200)
  })

  it('HEAD of the events ends, and takes no place of a listener', async () => {
    const answer = await api.call('/api/events', { method: 'HEAD' })
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
      ...[200, 'text/event-stream; charset=utf-8', ''],
    ])
  })

  it('a body that does not come is told as that, not as a queue that is away', async () => {
    const clock = new ManualClock()
    const dashboard = await serveDashboard(
      { ...partsOf(api.backends, { queue: 'sqlite:x', store: 'sqlite:x' }), clock },
      { host: '127.0.0.1', port: 0, token: null, publicUrl: null },
    )
    try {
      const socket = connect(dashboard.port, '127.0.0.1')
      socket.write(
        `POST ${PAUSE} HTTP/1.1\r\nHost: 127.0.0.1:${dashboard.port}\r\nAuthorization: Bearer ${dashboard.token}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{',
      )
      const time = setInterval(() => clock.advance(10_000), 20)
      let answer = ''
      for await (const chunk of socket) answer += chunk
      clearInterval(time)
      expect(answer).toMatch(/^HTTP\/1.1 408 /)
      expect(answer).toContain('"code":"request_slow"')
    } finally {
      await dashboard.close()
    }
  })

  it('opens for the names of loopback and our own origin', async () => {
    const { port } = api.dashboard
    for (const name of ['127.0.0.1', 'localhost', '[::1]']) {
      const headers = { host: `${name}:${port}`, origin: `http://${name}:${port}`, 'sec-fetch-site': 'same-origin' }
      expect((await api.call('/api/overview', { headers })).status).toBe(200)
    }
  })

  it('tells the browser what the page may do', async () => {
    const { headers } = await api.call('/', { token: null })
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  })

  it.each(['0.0.0.0', '::', '192.0.2.1', 'shoal.example'])('does not open on %s without a token', async (host) => {
    const parts = partsOf(api.backends, { queue: 'sqlite:x', store: 'sqlite:x' })
    const serving = serveDashboard(parts, { host, port: 0, token: null, publicUrl: null })
    await expect(serving).rejects.toMatchObject({
      code: 'dashboard_open',
      hint: expect.stringContaining('SHOAL_TOKEN'),
    })
  })

  it('behind a proxy it answers to its public name, on all addresses to bare addresses, and to no other name', async () => {
    const parts = partsOf(api.backends, { queue: 'sqlite:x', store: 'sqlite:x' })
    const options = { host: '0.0.0.0', port: 0, token: 'a-token-&of-16-%', publicUrl: 'https://shoal.example/' }
    const dashboard = await serveDashboard(parts, options)
    try {
      const status = async (host: string, headers = {}) =>
        (await callDashboard(dashboard, '/api/overview', { headers: { host, ...headers } })).status
      expect(dashboard.url).toBe('https://shoal.example/')
      expect(await status('shoal.example', { origin: 'https://shoal.example' })).toBe(200)
      expect(await status('shoal.example:443', { origin: 'https://shoal.example' })).toBe(200)
      expect(await status(`192.0.2.7:${dashboard.port}`)).toBe(200)
      expect(await status('evil.example')).toBe(403)
      expect(await status('shoal.example', { origin: 'https://evil.example' })).toBe(403)
    } finally {
      await dashboard.close()
    }
  })

  it('a port in use is told with what to do', async () => {
    const parts = partsOf(api.backends, { queue: 'sqlite:x', store: 'sqlite:x' })
    const { port } = api.dashboard
    const serving = serveDashboard(parts, { host: '127.0.0.1', port, token: null, publicUrl: null })
    await expect(serving).rejects.toMatchObject({ code: 'dashboard_port', hint: expect.stringContaining('--port') })
  })
})
