import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { ROUTES } from '../../src/api/routes.js'
import { fingerprint } from '../../src/url/fingerprint.js'
import { CRAWL, url } from '../cli/seeded-database.js'
import { callDashboard, LADEN, PLANTS, served } from './served.js'

const json = (value: unknown): string => JSON.stringify(value)
const crawl = `/api/crawls/${CRAWL}`
const fp = (name: string) => fingerprint(url(name))
const host = json({ host: 'shop.example' })

/** A life of the API: every route at least once, in an order in which each makes sense. */
const CALLS: readonly (readonly [route: string, path: string, body?: string])[] = [
  ['GET /api/overview', '/api/overview'],
  ['GET /api/crawls', '/api/crawls?limit=1'],
  ['POST /api/crawls', '/api/crawls', json({ spider: 'shop', fresh: false })],
  ['POST /api/crawls', '/api/crawls', json({ spider: 'shop', fresh: true })],
  ['GET /api/crawls/:crawl', crawl],
  ['POST /api/crawls/:crawl/pause', `${crawl}/pause`, '{}'],
  ['POST /api/crawls/:crawl/resume', `${crawl}/resume`, '{}'],
  ['GET /api/crawls/:crawl/series', `${crawl}/series?span=24h`],
  ['GET /api/crawls/:crawl/hosts', `${crawl}/hosts`],
  ['GET /api/crawls/:crawl/hosts', `${crawl}/hosts?order=name&begins=sh`],
  ['PUT /api/hosts/:host', '/api/hosts/shop.example', json({ delayMs: 5_000, concurrency: 2, blocked: false })],
  ['GET /api/crawls/:crawl/hosts', `${crawl}/hosts?limit=500`],
  ['PUT /api/hosts/:host', '/api/hosts/shop.example', json({ delayMs: null, concurrency: null })],
  ['GET /api/crawls/:crawl/links', `${crawl}/links?limit=500`],
  ['GET /api/crawls/:crawl/links', `${crawl}/links?state=leased&host=shop.example`],
  ['GET /api/crawls/:crawl/links', `${crawl}/links?state=dead&code=server_error`],
  ['POST /api/crawls/:crawl/links/:fp/promote', `${crawl}/links/${fp('queued-later')}/promote`, host],
  ['POST /api/crawls/:crawl/links/:fp/retry', `${crawl}/links/${fp('delayed')}/retry`, host],
  ['POST /api/crawls/:crawl/links/:fp/remove', `${crawl}/links/${fingerprint(LADEN)}/remove`, host],
  ['GET /api/crawls/:crawl/dead', `${crawl}/dead`],
  ['GET /api/crawls/:crawl/explain', `${crawl}/explain?url=${encodeURIComponent(url('dead'))}`],
  ['GET /api/crawls/:crawl/explain', `${crawl}/explain?url=${encodeURIComponent(url('done'))}`],
  ['GET /api/crawls/:crawl/explain', `${crawl}/explain?url=${encodeURIComponent(url('queued'))}`],
  ['GET /api/crawls/:crawl/explain', `${crawl}/explain?url=${encodeURIComponent(LADEN)}`],
  ['GET /api/crawls/:crawl/explain', `${crawl}/explain?url=${encodeURIComponent(url('never'))}`],
  ['POST /api/crawls/:crawl/dead/replay', `${crawl}/dead/replay`, json({ code: 'server_error' })],
  ['POST /api/crawls/:crawl/dead/purge', `${crawl}/dead/purge`, json({ host: 'shop.example' })],
  ['GET /api/workers', '/api/workers'],
  ['POST /api/workers/:worker/drain', '/api/workers/w1/drain', '{}'],
  ['GET /api/proxies', '/api/proxies'],
  ['GET /api/proxies/:pool', '/api/proxies/dc'],
  ['POST /api/proxies/:pool/:proxy/wake', '/api/proxies/dc/proxy-1/wake', '{}'],
  ['GET /api/records', '/api/records?spider=shop&kind=product&text=LAMP'],
  ['GET /api/alerts', '/api/alerts'],
  ['POST /api/crawls/:crawl/cancel', `${crawl}/cancel`, '{}'],
  ['GET /api/crawls', '/api/crawls'],
  ['GET /api/audit', '/api/audit?limit=500'],
  ['GET /api/openapi.json', '/api/openapi.json'],
]

describe.each(PLANTS)('on %s', (kind) => {
  const api = served(kind, { spiders: ['shop'] })

  it('every answer is what its schema says, and there is a call for every route', async () => {
    for (const [name, path, body] of CALLS) {
      const route = ROUTES.find((one) => `${one.method} ${one.path}` === name)
      const answer = await api.call(path, { method: route?.method, body })
      const seen = `${name} answers ${answer.status} ${answer.text.slice(0, 500)}`
      expect(answer.status, seen).toBe(200)
      expect(route?.answer.safeParse(JSON.parse(answer.text)).error, seen).toBeUndefined()
    }
    const called = new Set([...CALLS.map(([name]) => name), 'GET /api/events'])
    expect(ROUTES.map(({ method, path }) => `${method} ${path}`).filter((name) => !called.has(name))).toEqual([])
  })

  it('what was done stands in the audit log, newest first, page by page', async () => {
    const entries: { action: string; target: string; by: string; result: string; details: unknown }[] = []
    for (let after = ''; ; ) {
      const { items, next } = JSON.parse((await api.call(`/api/audit?limit=3${after}`)).text)
      expect(items.length).toBeLessThanOrEqual(3)
      entries.push(...items)
      if (next === null) break
      after = `&after=${next}`
    }
    expect(entries.map(({ action }) => action).reverse()).toEqual([
      ...[
        'crawl.start',
        'crawl.start',
        'crawl.pause',
        'crawl.resume',
        'host.set',
        'host.set',
        'link.promote',
        'link.retry',
      ],
      ...['link.remove', 'dead.replay', 'dead.purge', 'worker.drain', 'proxy.wake', 'crawl.cancel'],
    ])
    expect(new Set(entries.map(({ by, result }) => `${by} ${result}`))).toEqual(new Set(['dashboard ok']))
    const details = (name: string) => entries.find(({ action }) => action === name)?.details
    expect(details('crawl.start')).toEqual({ fresh: true, crawl: CRAWL, resumed: false, setAside: 'shop-old' })
    expect(details('dead.replay')).toEqual({ code: 'server_error', count: expect.any(Number) })
  })

  it('a pace is set for a host of no crawl, and that is told', async () => {
    const set = async (name: string) =>
      JSON.parse((await api.call(`/api/hosts/${name}`, { method: 'PUT', body: json({ delayMs: null }) })).text)
    expect(await set('shop.example')).toEqual({ ok: true, known: true })
    expect(await set('shop.exampl')).toEqual({ ok: true, known: false })
  })

  it('dead letters are looked at once for all who ask, and anew after an order', async () => {
    const { frontier } = api.backends
    const looked = vi.spyOn(frontier, 'deadByError')
    try {
      await api.call(`${crawl}/dead/purge`, { method: 'POST', body: '{}' })
      await Promise.all(Array.from({ length: 10 }, () => api.call(`${crawl}/dead`)))
      expect(looked).toHaveBeenCalledTimes(1)
      await api.call(`${crawl}/dead/purge`, { method: 'POST', body: '{}' })
      await api.call(`${crawl}/dead`)
      expect(looked).toHaveBeenCalledTimes(2)
    } finally {
      looked.mockRestore()
    }
  })

  it('/scale says how many workers help, with the token alone', async () => {
    const one = await api.call('/scale?spider=shop')
    expect(one).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('application/json') } })
    const figure = { spider: 'shop', workers: expect.any(Number), slotsPerWorker: expect.any(Number) }
    expect(JSON.parse(one.text)).toMatchObject({ ...figure, why: expect.any(String) })
    expect(JSON.parse((await api.call('/scale')).text)).toMatchObject({ spiders: [figure] })
    expect(JSON.parse((await api.call('/scale?spider=nobody')).text)).toMatchObject({ workers: 0 })
    expect((await api.call('/scale?spider=shop', { token: null })).status).toBe(401)
    expect((await api.call('/scale?spidr=shop')).status).toBe(400)
  })

  it('a cursor is good for its own list alone', async () => {
    const { next } = JSON.parse((await api.call('/api/audit?limit=1')).text)
    expect((await api.call(`/api/audit?limit=1&after=${next}`)).status).toBe(200)
    expect((await api.call(`${crawl}/links?after=${next}`)).status).toBe(400)
  })

  it('events come at once, and those of a crawl with them', async () => {
    const { port, token } = api.dashboard
    const stop = new AbortController()
    const response = await fetch(`http://127.0.0.1:${port}/api/events?crawl=${CRAWL}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (text.includes('event: crawl\n') && text.endsWith('\n\n')) break
    }
    stop.abort()
    const data = (name: string) => JSON.parse(new RegExp(`event: ${name}\ndata: (.*)\n`).exec(text)?.[1] ?? '')
    const schema = (path: string) => ROUTES.find((one) => one.path === path)?.answer ?? z.never()
    expect(schema('/api/overview').safeParse(data('overview')).error).toBeUndefined()
    expect(schema('/api/crawls/:crawl').safeParse(data('crawl')).error).toBeUndefined()
  })
})

describe('the description', () => {
  const api = served('sqlite')

  it('is OpenAPI 3.1, and has every route with all its parameters', async () => {
    const text = (await callDashboard(api.dashboard, '/api/openapi.json')).text
    const { paths } = openApi.parse(JSON.parse(text))
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
    )
    expect(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(
      ROUTES.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`).sort(),
    )
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const { path, parameters } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.filter((one) => one.in === 'path').map(({ name }) => name)).toEqual(inPath)
    }
    const refs = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, ref = '']) => ref)
    for (const ref of refs) {
      const found = ref.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], JSON.parse(text))
      expect(found, ref).toBeTypeOf('object')
    }
  })
})

/** What the specification of OpenAPI 3.1 asks of the parts that we use. */
const schema = z.record(z.string(), z.unknown())
const content = z.record(z.string().regex(/^[a-z]+\/[a-z-]+$/), z.strictObject({ schema }))
const response = z.union([
  z.strictObject({ $ref: z.string() }),
  z.strictObject({ description: z.string().min(1), content }),
])
const openApi = z.strictObject({
  openapi: z.string().regex(/^3\.1\.\d$/),
  info: z.strictObject({ title: z.string().min(1), version: z.string().min(1), description: z.string() }),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  paths: z.record(
    z.string().startsWith('/'),
    z.partialRecord(
      z.enum(['get', 'post', 'put']),
      z.strictObject({
        operationId: z.string().regex(/^[A-Za-z]+$/),
        summary: z.string().min(1),
        parameters: z.array(
          z.strictObject({ name: z.string(), in: z.enum(['path', 'query']), schema, required: z.boolean() }),
        ),
        requestBody: z.strictObject({ required: z.literal(true), content }).optional(),
        responses: z.record(z.string().regex(/^(?:[1-5]\d\d|default)$/), response),
      }),
    ),
  ),
  components: z.strictObject({
    securitySchemes: z.record(z.string(), z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer') })),
    schemas: z.record(z.string(), schema),
    responses: z.record(z.string(), response),
  }),
})
