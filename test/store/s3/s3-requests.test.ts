import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../../src/clock.js'
import { asShoalError, ShoalError } from '../../../src/errors.js'
import { MemoryBlobIndex } from '../../../src/store/memory/memory-blob-index.js'
import { PackedBlobStore } from '../../../src/store/packs/packed-blob-store.js'
import { parseS3 } from '../../../src/store/s3/s3-address.js'
import { loadSdk, type Sdk } from '../../../src/store/s3/s3-client.js'
import { S3PackPlace } from '../../../src/store/s3/s3-pack-place.js'
import { CREDENTIALS } from '../../support/s3-server.js'

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

type Answer = { status: number; body?: string; headers?: Record<string, string> }

/** What a service says when it refuses, with all that a careless client would repeat. */
const refusal = (status: number, code: string): Answer => ({
  status,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>not ${SECRET}</Message><AWSAccessKeyId>${KEY_ID}</AWSAccessKeyId></Error>`,
})

const SECRET = 'canary-secret-5f1d'
const KEY_ID = 'canary-key-id-77aa'

let server: Server
let asked: Asked[]
let answer: (request: Asked) => Answer
let endpoint: string

beforeEach(async () => {
  Object.assign(process.env, CREDENTIALS, { AWS_ACCESS_KEY_ID: KEY_ID, AWS_SECRET_ACCESS_KEY: SECRET })
  asked = []
  answer = () => ({ status: 200 })
  // As every S3 service: an ETag for what it stored.
  const stored = (method: string, status: number) => (method === 'PUT' && status === 200 ? { etag: '"0"' } : {})
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    const one = { method, url, headers, body: Buffer.concat(chunks) }
    asked.push(one)
    const { status, body = '', headers: more = {} } = answer(one)
    response.writeHead(status, { 'content-type': 'application/xml', ...stored(method, status), ...more }).end(body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const placeAt = (address: string) => new S3PackPlace(parseS3(address), systemClock)
const newPlace = () => placeAt(`s3://raw-pages/a/b?endpoint=${endpoint}`)

describe('requests to S3', () => {
  it('name the bucket in the path, sign the very body, and ask for nothing that services differ in', async () => {
    const run = Buffer.from('entries')
    const { pack, start } = await newPlace().write(run)
    expect(start).toBe(8)
    const [put] = asked
    expect(put).toMatchObject({ method: 'PUT', body: Buffer.from('SHOALPK1entries') })
    expect(new URL(put.url, endpoint).pathname).toBe(`/raw-pages/a/b/packs/${pack}.pack`)
    expect(put.headers['x-amz-content-sha256']).toBe(createHash('sha256').update(put.body).digest('hex'))
    expect(put.headers['content-length']).toBe('15')
    for (const name of [
      'content-encoding',
      'if-none-match',
      'x-amz-checksum-crc32',
      'x-amz-trailer',
      'transfer-encoding',
    ])
      expect(put.headers[name]).toBeUndefined()
  })

  it('say that only the first name of a place may be written, and take the name that was faster', async () => {
    let reads = 0
    answer = ({ method, headers }) => {
      if (method === 'PUT')
        return headers['if-none-match'] === '*' ? refusal(412, 'PreconditionFailed') : { status: 200 }
      return ++reads === 1 ? refusal(404, 'NoSuchKey') : { status: 206, body: 'cafe0001\n' }
    }
    expect(await newPlace().open()).toBe('cafe0001')
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET'])
  })

  it('do without that where the service does not know it', async () => {
    let name = ''
    answer = ({ method, headers, body }) => {
      if (method === 'GET') return name === '' ? refusal(404, 'NoSuchKey') : { status: 206, body: name }
      if (headers['if-none-match'] !== undefined) return refusal(501, 'NotImplemented')
      name = body.toString()
      return { status: 200 }
    }
    expect(await newPlace().open()).toBe(name.trim())
    expect(name).toMatch(/^[0-9a-f]{8}\n$/)
  })

  it('read one range', async () => {
    answer = () => ({ status: 206, body: '12345' })
    const place = newPlace()
    expect(Buffer.from((await place.read('20260101-0123456789abcdef', 100, 5)) ?? []).toString()).toBe('12345')
    expect(asked[0].headers.range).toBe('bytes=100-104')
    // The pack is cut short.
    expect(await place.read('20260101-0123456789abcdef', 100, 6)).toHaveLength(5)
    answer = () => ({ status: 200, body: 'the whole object' })
    await expect(place.read('20260101-0123456789abcdef', 4, 5)).rejects.toMatchObject({ code: 'blobs_unwritable' })
  })
})

describe('answers of S3', () => {
  const cases: [string, number, string, string][] = [
    ['no such bucket', 404, 'NoSuchBucket', 'pages_missing'],
    ['no access', 403, 'AccessDenied', 'pages_forbidden'],
    ['a wrong key', 403, 'InvalidAccessKeyId', 'pages_forbidden'],
    ['a wrong secret', 403, 'SignatureDoesNotMatch', 'pages_forbidden'],
    ['an old token', 400, 'ExpiredToken', 'pages_forbidden'],
    ['another region', 301, 'PermanentRedirect', 'pages_missing'],
    ['another region, told otherwise', 400, 'AuthorizationHeaderMalformed', 'pages_missing'],
    ['something else', 400, 'InvalidRequest', 'blobs_unwritable'],
  ]
  it.each(cases)('%s: %i %s', async (_what, status, code, ours) => {
    answer = () => refusal(status, code)
    const error = await newPlace().open().catch(asShoalError)
    // Of the backends: the links in hand go back as they were.
    expect(error).toMatchObject({ code: ours, next: 'backend' })
    expect(inspect(error, { depth: 10 })).not.toMatch(/canary/)
  })

  it.each([
    ['SlowDown', 503],
    ['InternalError', 500],
    ['RequestTimeout', 400],
  ])('%s is tried again, then told as away', async (code, status) => {
    answer = () => refusal(status, code)
    const error = await newPlace().write(Buffer.from('x')).catch(asShoalError)
    expect(error).toMatchObject({ code: 'pages_down', next: 'backend' })
    expect(asked).toHaveLength(3)
    expect(inspect(error, { depth: 10 })).not.toMatch(/canary/)
  })

  it('that are busy once are no outage', async () => {
    answer = () => (asked.length === 1 ? refusal(503, 'SlowDown') : { status: 200 })
    await newPlace().write(Buffer.from('x'))
    expect(asked).toHaveLength(2)
  })
})

describe('a call without an answer', () => {
  const MB = 1024 * 1024
  it.each([
    ['of a few bytes', (place: S3PackPlace) => place.write(Buffer.from('x')), 31_000],
    ['that writes much', (place: S3PackPlace) => place.write(Buffer.alloc(8 * MB)), 63_000],
    ['that reads much', (place: S3PackPlace) => place.read('20260101-0123456789abcdef', 8, 64 * MB), 286_000],
  ])('%s ends in its time', async (_what, ask, deadlineMs) => {
    const clock = new ManualClock()
    const place = new S3PackPlace(parseS3(`s3://raw-pages?endpoint=${endpoint}`), clock, async () => {
      const sdk = await loadSdk()
      class Silent extends sdk.S3Client {
        override send = () => new Promise<never>(() => {})
      }
      return { ...sdk, S3Client: Silent }
    })
    let ended: unknown = null
    const asking = ask(place).catch((error: unknown) => {
      ended = error
    })
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    clock.advance(deadlineMs - 1)
    await turn()
    expect(ended).toBeNull()
    clock.advance(1)
    await asking
    expect(ended).toMatchObject({ code: 'pages_down' })
    await place.close()
  })
})

describe('secrets', () => {
  it('are used for signing and appear nowhere: not in errors, not in what is stored, not in the index', async () => {
    answer = ({ method }) => (method === 'GET' ? { status: 206, body: 'cafe0001' } : { status: 200 })
    const index = new MemoryBlobIndex()
    const store = new PackedBlobStore(index, newPlace(), systemClock)
    const ref = await store.put(Buffer.from('page'), 'text/html')
    expect(inspect([ref, await index.after('cafe0001', '', 10), store], { depth: 10 })).not.toContain(SECRET)
    for (const { url, body, headers } of asked) {
      expect(`${url} ${body} ${JSON.stringify(headers)}`).not.toContain(SECRET)
      expect(headers.authorization).toContain(KEY_ID)
    }
    await store.close()
  })

  it.each([
    `s3://${KEY_ID}:${SECRET}@bucket/prefix`,
    `s3://bucket/prefix?secret=${SECRET}`,
    `s3://bucket/prefix?endpoint=http://${KEY_ID}:${SECRET}@127.0.0.1:9000`,
    `s3:///${SECRET}`,
    `s3://bu cket/${SECRET}`,
    `s3://bucket?endpoint=ftp://${SECRET}`,
  ])('do not belong into the address, and are not repeated: %#', (address) => {
    expect(() => parseS3(address)).toThrow(ShoalError)
    try {
      parseS3(address)
    } catch (error) {
      expect(error).toMatchObject({ code: 'pages_address' })
      expect(inspect(error)).not.toMatch(/canary/)
    }
  })
})

describe('the address', () => {
  it.each([
    ['s3://bucket', { bucket: 'bucket', prefix: '', endpoint: null, region: null }],
    ['s3://bucket/', { bucket: 'bucket', prefix: '', endpoint: null, region: null }],
    ['s3://my.bucket/a/b%20c/', { bucket: 'my.bucket', prefix: 'a/b c/', endpoint: null, region: null }],
    [
      's3://bucket/p?endpoint=http://127.0.0.1:9000&region=eu-central-1',
      { bucket: 'bucket', prefix: 'p/', endpoint: 'http://127.0.0.1:9000/', region: 'eu-central-1' },
    ],
  ])('%s', (address, parsed) => {
    expect(parseS3(address)).toEqual(parsed)
  })
})

describe('the package for S3', () => {
  it('may still be loading when its place is closed', async () => {
    let loaded = (_: Sdk) => {}
    const loading = new Promise<Sdk>((resolve) => {
      loaded = resolve
    })
    const place = new S3PackPlace(parseS3('s3://bucket'), systemClock, () => loading)
    const opening = place.open()
    const closing = place.close()
    await expect(opening).rejects.toMatchObject({ code: 'pages_down' })
    loaded(await loadSdk())
    await closing
  })

  it('is asked for by name when it is not installed', async () => {
    const load = () => Promise.reject(new ShoalError('pages_driver', 'the package @aws-sdk/client-s3 is not installed'))
    const place = new S3PackPlace(parseS3('s3://bucket'), systemClock, load)
    await expect(place.open()).rejects.toMatchObject({
      code: 'pages_driver',
      hint: expect.stringContaining('npm install @aws-sdk/client-s3'),
    })
  })
})
