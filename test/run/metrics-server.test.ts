import { type IncomingHttpHeaders, request } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { ShoalError } from '../../src/errors.js'
import type { Monitor } from '../../src/observe/metrics/monitor.js'
import { type MetricsServer, serveMetrics } from '../../src/run/metrics-server.js'

const TOKEN = 'a-token-of-24-characters'
const monitor: Monitor = {
  metricsText: async () => 'shoal 1\n',
  healthReply: async () => ({ status: 503, body: { ok: false, reasons: [{ code: 'stalled', message: 'nobody' }] } }),
  readyReply: async () => ({ status: 200, body: { ok: true, reasons: [] } }),
  scale: async ({ spiders, slots }) => ({
    ...{ spider: String(spiders), workers: 3, slots: 170, slotsPerWorker: slots ?? 64, why: 'hosts' },
  }),
}
const servers: MetricsServer[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function serve(
  host = '127.0.0.1',
  token: string | null = null,
  port = 0,
  given: Partial<Monitor> = {},
): Promise<URL> {
  const server = await serveMetrics({ address: { host, port }, token }, { ...monitor, ...given })
  servers.push(server)
  return new URL(server.url)
}

function ask(
  base: URL,
  path: string,
  { method = 'GET', ...headers }: Readonly<Record<string, string>> = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  return new Promise((resolve, reject) => {
    const hostname = base.hostname === '0.0.0.0' ? '127.0.0.1' : base.hostname.replace(/^\[|\]$/g, '')
    const sent = request({ hostname, port: base.port, path, method, headers, agent: false }, (response) => {
      let body = ''
      response.on('data', (piece: Buffer) => (body += piece.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

it('answers metrics and probes on this machine without a token', async () => {
  const base = await serve()
  const metrics = await ask(base, '/metrics?x=1')
  expect(metrics).toMatchObject({ status: 200, body: 'shoal 1\n' })
  expect(metrics.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await ask(base, '/readyz')).toMatchObject({ status: 200, body: '{"ok":true,"reasons":[]}\n' })
  const health = await ask(base, '/healthz')
  expect(health.status).toBe(503)
  expect(JSON.parse(health.body)).toEqual({ ok: false, reasons: [{ code: 'stalled', message: 'nobody' }] })
  expect(await ask(base, '/metrics', { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
  expect((await ask(base, '/metrics', { method: 'POST' })).status).toBe(405)
  for (const path of ['/', '/metrics/', '//metrics', '/%6detrics', '/api'])
    expect((await ask(base, path)).status, path).toBe(404)
})

it('is not for pages whose name was made to point here', async () => {
  const base = await serve()
  for (const host of ['evil.example', `evil.example:${base.port}`, '127.0.0.1.evil.example'])
    expect((await ask(base, '/metrics', { host })).status, host).toBe(403)
  for (const host of [`localhost:${base.port}`, 'LOCALHOST', `127.0.0.1:${base.port}`, '[::1]:1'])
    expect((await ask(base, '/healthz', { host })).status, host).toBe(503)
})

it('wants the token for metrics where one is set, and tells probes without', async () => {
  const base = await serve('0.0.0.0', TOKEN)
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${TOKEN}`,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    TOKEN,
  ]) {
    const refused = await ask(base, '/metrics', authorization === '' ? {} : { authorization })
    expect(refused.status, authorization).toBe(401)
    expect(refused.headers['www-authenticate']).toBe('Bearer')
    expect(refused.body).not.toContain('shoal 1')
    expect(refused.body).not.toContain(TOKEN)
  }
  expect((await ask(base, `/metrics?token=${TOKEN}`)).status).toBe(401)
  expect((await ask(base, '/metrics', { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
  expect((await ask(base, '/readyz')).status).toBe(200)
})

it('does not judge wrong tokens without end, and lets the right one in all the same', async () => {
  const base = await serve('127.0.0.1', TOKEN)
  const statuses: number[] = []
  for (let i = 0; i < 21; i++) statuses.push((await ask(base, '/metrics', { authorization: `Bearer ${i}` })).status)
  expect(new Set(statuses.slice(0, 20))).toEqual(new Set([401]))
  expect(statuses[20]).toBe(429)
  expect((await ask(base, '/metrics', { authorization: `Bearer ${TOKEN}` })).status).toBe(200)
})

async function refusal(serving: Promise<unknown>): Promise<string> {
  const error = await serving.then(
    () => null,
    (thrown: ShoalError) => thrown,
  )
  return `${error?.code} ${error?.message} ${error?.hint}`
}

it('refuses to be open to other machines without a token, and says what to do', async () => {
  for (const host of ['0.0.0.0', '::', '192.0.2.1', 'shoal.example', '127.0.0.1.nip.io', '1270.0.0.1'])
    expect(await refusal(serve(host))).toMatch(/^metrics_open .*SHOAL_TOKEN/)
})

it('tells of a port that is in use, and of an address that is none of this machine', async () => {
  const { port } = await serve()
  expect(await refusal(serve('127.0.0.1', null, Number(port)))).toMatch(/^metrics_port .* is in use .*--metrics 0/)
  expect(await refusal(serve('192.0.2.1', TOKEN))).toMatch(/^metrics_port .* cannot be used \(EADDRNOTAVAIL\)/)
})

it('says in the answer what went wrong inside', async () => {
  const failing = { ...monitor, metricsText: () => Promise.reject(new Error('a defect')) }
  const server = await serveMetrics({ address: { host: '127.0.0.1', port: 0 }, token: null }, failing)
  servers.push(server)
  expect(await ask(new URL(server.url), '/metrics')).toMatchObject({
    status: 500,
    body: expect.stringContaining('a defect'),
  })
})

it('says how many workers help, to autoscalers with the token', async () => {
  const base = await serve('0.0.0.0', TOKEN)
  expect((await ask(base, '/scale?spider=books')).status).toBe(401)
  const authorization = `Bearer ${TOKEN}`
  const reply = await ask(base, '/scale?spider=books&slots=8', { authorization })
  expect(reply).toMatchObject({ status: 200 })
  expect(reply.headers['content-type']).toBe('application/json')
  expect(JSON.parse(reply.body)).toEqual({ spider: 'books', workers: 3, slots: 170, slotsPerWorker: 8, why: 'hosts' })
  for (const query of [
    'spdier=books',
    'spider=a%20b',
    'spider=',
    'spider=a,,b',
    'spider=a&spider=b',
    'slots=0',
    'slots=x',
  ])
    expect(await ask(base, `/scale?${query}`, { authorization }), query).toMatchObject({
      ...{ status: 400, body: expect.stringContaining('bad_request') },
    })
})

it('answers 503 while the queue is down, so that autoscalers keep what they have, and 404 on a worker', async () => {
  const down = await serve('127.0.0.1', null, 0, {
    scale: async () => {
      throw new ShoalError('queue_down', 'no answer within 4 s')
    },
  })
  expect(await ask(down, '/scale?spider=books')).toMatchObject({
    ...{ status: 503, body: expect.stringContaining('queue_down') },
  })
  const worker = await serve('127.0.0.1', null, 0, { scale: null })
  expect(await ask(worker, '/scale?spider=books')).toMatchObject({
    ...{ status: 404, body: expect.stringContaining('shoal dashboard') },
  })
})
