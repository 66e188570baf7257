import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../src/clock.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import type { WebhookOutlet } from '../../src/outlets/outlet.js'
import type { Sent } from '../../src/outlets/sink.js'
import { webhookSink } from '../../src/outlets/webhook.js'
import { signatureOf } from '../../src/outlets/webhook-signature.js'
import type { StoredRecord } from '../../src/store/record-store.js'
import { freePort, until } from '../support/redis-server.js'

interface Post {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let server: Server
let origin: string
let posts: Post[]
let answer: { status: number; headers?: Record<string, string>; body?: string; hang?: boolean }

const fetcher = createHttpFetcher({ clock: systemClock })
beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      posts.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      if (answer.hang !== true) response.writeHead(answer.status, answer.headers).end(answer.body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await fetcher.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
beforeEach(() => {
  posts = []
  answer = { status: 204 }
})

function record(key: string, data: StoredRecord['data'] = { title: `Title ${key} ü` }): StoredRecord {
  const times = { scrapedAt: 1, firstSeenAt: 1, updatedAt: 1 }
  const place = { spider: 'books', site: 'books.example', kind: 'book', url: `https://books.example/${key}` }
  return { ...place, key, data, crawl: 'c1', ...times }
}

function send(
  records: readonly StoredRecord[],
  fields: Partial<WebhookOutlet> = {},
  secret: string | null = 's3cret',
  clock: Clock = new ManualClock(1_700_000_000_500),
) {
  const outlet: WebhookOutlet = {
    ...{ name: 'books/webhook', spider: 'books', kinds: null, batch: 100, to: 'webhook', url: `${origin}/hook?a=1` },
    ...{ secretEnv: 'HOOK_SECRET', timeoutMs: 5_000, allowPrivate: ['127.0.0.1:*'], ...fields },
  }
  const sink = webhookSink(outlet, { fetcher, clock, secret })
  return sink.send({ records, hold: { id: 'o', epoch: 1 } }, new AbortController().signal)
}

describe('a webhook', () => {
  it('posts records as JSON with a signature over id, time and body, and an id that stays with the batch', async () => {
    expect(await send([record('a'), record('b')])).toEqual({ kind: 'taken', trimmed: 0 })
    await send([record('a'), record('b')])
    await send([record('a'), record('c')])
    const [first, second, third] = posts
    expect(JSON.parse(first?.body ?? '')).toEqual({ outlet: 'books/webhook', records: [record('a'), record('b')] })
    const id = first?.headers['webhook-id']
    expect(first?.headers).toMatchObject({
      'content-type': 'application/json',
      'shoal-outlet': 'books/webhook',
      'webhook-id': expect.stringMatching(/^[0-9a-f]{32}$/),
      'webhook-timestamp': '1700000000',
      'webhook-signature': signatureOf('s3cret', `${id}.1700000000.${first?.body}`),
      'user-agent': expect.stringMatching(/^Shoal\//),
    })
    expect(second?.headers['webhook-id']).toBe(id)
    expect(third?.headers['webhook-id']).not.toBe(id)
  })

  it('is not signed without a secret', async () => {
    await send([record('a')], { secretEnv: null }, null)
    expect(posts[0]?.headers['webhook-signature']).toBeUndefined()
    expect(posts[0]?.headers).toMatchObject({ 'webhook-timestamp': '1700000000' })
  })

  it('posts large batches in parts of about a megabyte', async () => {
    const big = Array.from({ length: 10 }, (_, i) => record(`k${i}`, 'ü'.repeat(120_000)))
    expect(await send(big)).toMatchObject({ kind: 'taken' })
    expect(posts.length).toBe(3)
    const keys = posts.flatMap(({ body }) =>
      (JSON.parse(body) as { records: StoredRecord[] }).records.map(({ key }) => key),
    )
    expect(keys).toEqual(big.map(({ key }) => key))
    for (const { body } of posts) expect(Buffer.byteLength(body)).toBeLessThan(1_100_000)
  })

  it.each([
    [{ status: 200 }, { kind: 'taken' }],
    [{ status: 500 }, { kind: 'down', message: 'it answers 500' }],
    [
      { status: 503, headers: { 'retry-after': '7' } },
      { kind: 'down', retryAfterMs: 7_000 },
    ],
    [
      { status: 429, headers: { 'retry-after': '120' } },
      { kind: 'down', retryAfterMs: 120_000 },
    ],
    [{ status: 408 }, { kind: 'down' }],
    [
      { status: 400, body: 'no such\nfield' },
      { kind: 'refused', message: 'it answers 400: no such field' },
    ],
    [{ status: 401 }, { kind: 'refused', message: 'it answers 401' }],
    [{ status: 410 }, { kind: 'refused' }],
    [
      { status: 302, headers: { location: '/elsewhere' } },
      { kind: 'refused', message: expect.stringContaining('redirect') },
    ],
  ] as [typeof answer, Partial<Sent>][])('answers %o is %o', async (told, expected) => {
    answer = told
    expect(await send([record('a')])).toMatchObject(expected)
  })

  it('is away when it does not answer in time or nobody listens', async () => {
    answer = { status: 200, hang: true }
    expect(await send([record('a')], { timeoutMs: 200 })).toMatchObject({ kind: 'down' })
    expect(await send([record('a')], { url: 'http://127.0.0.1:1/' })).toMatchObject({ kind: 'down' })
  })

  it('never goes to a private address that the spider does not allow', async () => {
    for (const url of [`${origin}/hook`, 'http://localhost/hook', 'http://169.254.169.254/latest', 'http://[::1]/x']) {
      const sent = await send([record('a')], { url, allowPrivate: [] })
      expect(sent, url).toMatchObject({ kind: 'refused', message: expect.stringContaining('private_address') })
    }
    expect(await send([record('a')], { url: 'http://203.0.113.1:6379/' })).toMatchObject({ kind: 'refused' })
    expect(posts).toEqual([])
  })

  it('is checked by the receiver that docs/outlets.md shows', async () => {
    const text = readFileSync(new URL('../../docs/outlets.md', import.meta.url), 'utf8')
    const [, program = ''] = /^```js verify\.mjs\n([\s\S]*?)^```$/m.exec(text) ?? []
    const port = await freePort()
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const env = { ...process.env, WEBHOOK_SECRET: secret, PORT: String(port) }
    const receiver = spawn(process.execPath, ['--input-type=module', '-e', program], { env })
    let said = ''
    receiver.stdout.on('data', (chunk: Buffer) => {
      said += String(chunk)
    })
    try {
      const url = `http://127.0.0.1:${port}/`
      const now = systemClock
      await until('the receiver', async () => (await send([], { url }, secret, now)).kind === 'taken')
      expect(await send([record('a')], { url }, secret, now)).toEqual({ kind: 'taken', trimmed: 0 })
      expect(said).toContain("book a { title: 'Title a ü' }")
      const genuine = { kind: 'refused', message: 'it answers 401' }
      expect(await send([record('b')], { url }, 'guessed', now)).toEqual(genuine)
      expect(await send([record('b')], { url }, null, now)).toEqual(genuine)
      // Sent in 2023.
      expect(await send([record('b')], { url }, secret)).toEqual(genuine)
    } finally {
      receiver.kill('SIGKILL')
    }
  })

  it('never says its secret', async () => {
    answer = { status: 400, body: 'bad signature' }
    expect(JSON.stringify(await send([record('a')]))).not.toContain('s3cret')
  })
})
