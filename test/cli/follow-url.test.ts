import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { shoal } from './cli.js'

/** A site of three pages: one that fails once, and one that robots.txt forbids. */
const dir = mkdtempSync(join(tmpdir(), 'shoal-follow-'))
const TINY_OTEL = fileURLToPath(new URL('../support/tiny-otel.mjs', import.meta.url))
let server: Server
let origin = ''

beforeAll(async () => {
  let asked = 0
  server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', url === '/robots.txt' ? 'text/plain' : 'text/html')
    if (url === '/robots.txt') response.end('User-agent: *\nDisallow: /secret')
    else if (url.startsWith('/page') && ++asked === 1) response.writeHead(500).end('no')
    else response.end(`<h1>Page</h1><a href="/page?token=SECRET">p</a><a href="/secret">s</a>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(
    join(dir, 'site.ts'),
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'site', start: ['${origin}/'], allowPrivate: ['127.0.0.1:*'], pace: { delay: '1ms' },
       retries: { max: 2, backoff: ['20ms'] }, records: { page: {} },
       routes: {
         start: { match: '/', follow: [{ links: 'a' }] },
         page: { match: '/**', record: { kind: 'page', key: 'title', fields: { title: 'h1' } } },
       },
     })`,
  )
})
afterAll(() => server.close())

interface Line {
  readonly event: string
  readonly fp?: string
  readonly url?: string
  readonly outcome?: string
}

interface Span {
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly spanId: string
  readonly parentId: string | null
  readonly traceId: string
  readonly status?: { readonly code: number; readonly message?: string }
  readonly events: readonly { readonly name: string }[]
  readonly main: boolean
}

it('every step of a URL is told with its fingerprint, and traced', async () => {
  const traces = join(dir, 'traces')
  const env = { NODE_OPTIONS: `--import ${TINY_OTEL}`, TINY_OTEL: traces }
  const { code, err } = await shoal(['run', 'site.ts', '--json', '--log-level', 'debug', '--traces'], { cwd: dir, env })
  expect(code).toBe(0)
  const lines = err
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
  const eventsOf = (url: string) => {
    const { fp } = lines.find((line) => line.url === url) ?? {}
    return lines.filter((line) => line.fp !== undefined && line.fp === fp).map(({ event, outcome }) => [event, outcome])
  }
  const told = (url: string) =>
    eventsOf(url).map(([event, outcome]) => (outcome === undefined ? event : `${event} ${outcome}`))

  const start = told(`${origin}/`)
  expect(start.filter((event) => event !== 'permit.granted')).toEqual([
    'link.added',
    'lease.granted',
    'fetch.done',
    'robots.read',
    'robots.checked',
    'fetch.done',
    'handler.done',
    'visit.written',
    'visit.settled done',
  ])
  expect(start).toContain('permit.granted')
  const visited = ['lease.granted', 'robots.checked', 'fetch.done']
  expect(told(`${origin}/page?token=SECRET`).filter((event) => event !== 'permit.granted')).toEqual([
    'link.found',
    ...[...visited, 'fetch.failed retry', 'visit.written', 'visit.settled retry'],
    ...[...visited, 'handler.done', 'visit.written', 'visit.settled done'],
  ])
  expect(told(`${origin}/secret`).filter((event) => event !== 'permit.granted')).toEqual([
    'link.found',
    ...['lease.granted', 'robots.checked', 'fetch.failed skipped', 'visit.settled skipped'],
  ])

  const text = readFileSync(traces, 'utf8')
  expect(text).not.toContain('SECRET')
  const spans = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Span)
  const visits = spans.filter(({ name }) => name === 'visit')
  expect(visits.map(({ attributes }) => attributes['shoal.outcome'])).toEqual(
    expect.arrayContaining(['done', 'retry', 'done', 'skipped']),
  )
  expect(visits).toHaveLength(4)
  expect(spans.every(({ main }) => !main)).toBe(true)
  const first = visits.find(({ attributes }) => attributes['url.full'] === `${origin}/`)
  const children = (of: Span | undefined) => spans.filter(({ parentId }) => parentId === of?.spanId)
  expect(first).toMatchObject({
    parentId: null,
    attributes: { 'shoal.spider': 'site', 'shoal.route': 'start', 'shoal.attempt': 1, 'shoal.depth': 0 },
  })
  expect(new Set(children(first).map(({ name }) => name))).toEqual(
    new Set(['robots', 'permit', 'GET', 'handler', 'store', 'settle']),
  )
  // robots.txt is asked for within the step that needs it.
  const robots = children(children(first).find(({ name }) => name === 'robots'))
  expect(robots.find(({ name }) => name === 'GET')?.attributes).toMatchObject({ 'url.full': `${origin}/robots.txt` })
  const failed = visits.find(({ attributes }) => attributes['shoal.outcome'] === 'retry')
  expect(failed).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'server_error' } })
  // On a busy machine a permit may grow old before its request is sent: that try is a step without an answer.
  const answered = children(failed).find(
    ({ name, attributes }) => name === 'GET' && 'http.response.status_code' in attributes,
  )
  expect(answered).toMatchObject({
    kind: 2,
    status: { code: 2 },
    attributes: {
      ...{ 'http.request.method': 'GET', 'http.response.status_code': 500, 'error.type': '500' },
      ...{ 'server.address': '127.0.0.1', 'url.full': `${origin}/page?token=REDACTED` },
    },
  })
})
