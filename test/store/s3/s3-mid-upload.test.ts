import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { asShoalError } from '../../../src/errors.js'
import { parseS3 } from '../../../src/store/s3/s3-address.js'
import { s3Archive } from '../../../src/store/s3/s3-archive.js'
import { S3PackPlace } from '../../../src/store/s3/s3-pack-place.js'
import { CREDENTIALS } from '../../support/s3-server.js'

/**
 * A service that keeps objects and multipart uploads, and fails where a test says so. By hand: the emulator never fails, and a proxy in front of it
 * cannot say "200, but" or forget an upload.
 */
interface Call {
  readonly method: string
  readonly key: string
  readonly query: URLSearchParams
  readonly body: Buffer
  /** How often this very call has come. */
  readonly time: number
}

type Fault =
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> }
  /** Reset before it is carried out. */
  | 'reset'
  /** Carried out, then reset. */
  | 'reply lost'

let server: Server
let endpoint: string
let calls: string[]
let objects: Map<string, Buffer>
let uploads: Map<string, { readonly key: string; readonly parts: Map<number, Buffer> }>
let fault: (call: Call) => Fault | null

const error = (status: number, code: string, after = ''): Fault => ({
  status,
  body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>${after}`,
})
const nameOf = ({ method, query }: Call) => {
  if (query.has('partNumber')) return 'part'
  if (query.has('uploads')) return method === 'GET' ? 'uploads' : 'create'
  if (query.has('uploadId')) return method === 'DELETE' ? 'abort' : 'complete'
  return query.has('list-type') ? 'list' : method
}
const xml = (name: string, fields: string) => `<${name}>${fields}</${name}>`
const ETAG = { etag: '"0123456789abcdef0123456789abcdef"' }

function carryOut(call: Call): Exclude<Fault, string> {
  const { key, query, body } = call
  const id = query.get('uploadId') ?? ''
  const upload = uploads.get(id)
  switch (nameOf(call)) {
    case 'create': {
      const created = `upload-${calls.length}`
      uploads.set(created, { key, parts: new Map() })
      return { status: 200, body: xml('InitiateMultipartUploadResult', `<UploadId>${created}</UploadId>`) }
    }
    case 'uploads': {
      const prefix = query.get('prefix') ?? ''
      const found = [...uploads].filter(([, { key }]) => key.startsWith(prefix))
      const listed = found.map(([id, { key }]) => xml('Upload', `<Key>${key}</Key><UploadId>${id}</UploadId>`))
      return { status: 200, body: xml('ListMultipartUploadsResult', listed.join('')) }
    }
    case 'PUT':
      objects.set(key, body)
      return { status: 200, body: '', headers: ETAG }
    case 'HEAD': {
      const object = objects.get(key)
      if (object === undefined) return { status: 404, body: '' }
      return { status: 200, body: '', headers: { 'content-length': String(object.length) } }
    }
  }
  if (upload === undefined) return error(404, 'NoSuchUpload') as Exclude<Fault, string>
  if (nameOf(call) === 'part') upload.parts.set(Number(query.get('partNumber')), body)
  else uploads.delete(id)
  if (nameOf(call) === 'part') return { status: 200, body: '', headers: ETAG }
  if (nameOf(call) === 'abort') return { status: 204, body: '' }
  objects.set(key, Buffer.concat([...upload.parts].sort(([a], [b]) => a - b).map(([, part]) => part)))
  return { status: 200, body: xml('CompleteMultipartUploadResult', '<ETag>"x-2"</ETag>') }
}

function answer(call: Call, response: ServerResponse): void {
  const failing = fault(call)
  if (failing === 'reset') return void response.socket?.resetAndDestroy()
  const said = failing === null || failing === 'reply lost' ? carryOut(call) : failing
  if (failing === 'reply lost') return void response.socket?.resetAndDestroy()
  response.writeHead(said.status, { 'content-type': 'application/xml', ...said.headers }).end(said.body)
}

beforeEach(async () => {
  Object.assign(process.env, CREDENTIALS)
  calls = []
  objects = new Map()
  uploads = new Map()
  fault = () => null
  const times = new Map<string, number>()
  server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://s3')
    const { method = '' } = request
    const id = `${method} ${request.url}`
    const time = (times.get(id) ?? 0) + 1
    times.set(id, time)
    const call = { method, key: pathname.replace('/bucket/', ''), query, body, time }
    calls.push(nameOf(call))
    answer(call, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const MB = 1024 * 1024
const rows = Buffer.concat([Buffer.alloc(8 * MB, 'a'), Buffer.alloc(MB, 'b')])
async function* bytesOf(file: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.length; at += MB) yield file.subarray(at, at + MB)
}
const address = () => parseS3(`s3://bucket/old?endpoint=${endpoint}&region=us-east-1`)

async function archive(file = rows): Promise<string> {
  const open = s3Archive(address(), systemClock)
  try {
    return await open.write('fetches.parquet', bytesOf(file))
  } finally {
    await open.close()
  }
}
const stored = () => objects.get('old/fetches.parquet')
const at = (name: string, what: Fault, times = 1) => {
  fault = (call) => (nameOf(call) === name && call.time <= times ? what : null)
}

describe('an archive whose upload meets', () => {
  it.each<[string, string, Fault]>([
    ['a service that is busy once', 'part', error(503, 'SlowDown')],
    ['an error of the service', 'part', error(500, 'InternalError')],
    ['a connection that is reset', 'part', 'reset'],
    ['the loss of the reply to a part', 'part', 'reply lost'],
    ['the loss of the reply to the first call', 'create', 'reply lost'],
    ['the loss of the reply to the last call, whose repetition finds no upload', 'complete', 'reply lost'],
    ['an error in a 200', 'complete', error(200, 'InternalError')],
    ['an error in a 200, and a line end', 'complete', error(200, 'InternalError', '\n')],
    ['a last call without an answer', 'complete', { status: 200, body: '' }],
    ['a service that lists no uploads', 'uploads', error(501, 'NotImplemented')],
  ])('%s is whole in the end or is reported', async (_what, name, failure) => {
    at(name, failure)
    const result = await archive().catch(asShoalError)
    if (typeof result === 'string') expect(stored()?.equals(rows)).toBe(true)
    else {
      expect(result).toMatchObject({ code: 'pages_down' })
      expect(stored()).toBeUndefined()
      fault = () => null
      await archive()
      expect(stored()?.equals(rows)).toBe(true)
    }
    expect(uploads.size).toBe(0)
  })

  it('no bytes at all stores an empty object', async () => {
    await archive(Buffer.alloc(0))
    expect(stored()).toHaveLength(0)
  })

  it.each<[string, number, string, string]>([
    ['credentials that expire', 400, 'ExpiredToken', 'pages_forbidden'],
    ['a permission that is withdrawn', 403, 'AccessDenied', 'pages_forbidden'],
    ['a clock that is wrong', 403, 'RequestTimeTooSkewed', 'pages_forbidden'],
    ['bytes that changed on the way', 400, 'BadDigest', 'pages_down'],
    ['bytes that were signed otherwise', 400, 'XAmzContentSHA256Mismatch', 'pages_down'],
    ['a body that is cut', 400, 'IncompleteBody', 'pages_down'],
    ['an outage', 503, 'ServiceUnavailable', 'pages_down'],
  ])('%s says so and leaves no upload behind', async (_what, status, code, ours) => {
    fault = (call) => (call.query.get('partNumber') === '2' ? error(status, code) : null)
    const failure = await archive().catch(asShoalError)
    expect(failure).toMatchObject({ code: ours, message: expect.stringContaining(code) })
    if (code === 'RequestTimeTooSkewed') expect(failure).toMatchObject({ hint: expect.stringContaining('clock') })
    if (code === 'ExpiredToken') expect(failure).toMatchObject({ hint: expect.stringContaining('credentials') })
    expect(stored()).toBeUndefined()
    expect(uploads.size).toBe(0)
  })

  it('an outage that prevents its end: the next one ends it, and no upload of another file', async () => {
    uploads.set('foreign', { key: 'old/fetches.parquet.2', parts: new Map() })
    fault = (call) => (['part', 'abort'].includes(nameOf(call)) ? error(503, 'SlowDown') : null)
    await expect(archive()).rejects.toMatchObject({ code: 'pages_down' })
    expect(uploads.size).toBe(2)
    fault = () => null
    await archive()
    expect(stored()?.equals(rows)).toBe(true)
    expect([...uploads.keys()]).toEqual(['foreign'])
  })
})

describe('a place for packs', () => {
  const place = () => new S3PackPlace(address(), systemClock)

  it('does not believe a 200 that did not come from S3', async () => {
    fault = () => ({ status: 200, body: '<html>Please log in</html>', headers: { 'content-type': 'text/html' } })
    await expect(place().write(Buffer.from('run'))).rejects.toMatchObject({ code: 'pages_down' })
  })

  it('does not take the page of a portal for its name', async () => {
    fault = ({ method }) => (method === 'GET' ? { status: 206, body: 'Please log in' } : null)
    await expect(place().open()).rejects.toMatchObject({ code: 'blobs_unwritable' })
    expect(calls).toEqual(['GET'])
  })

  it('reports a service that forgets what was written instead of writing for ever', async () => {
    fault = ({ method }) => (method === 'GET' ? error(404, 'NoSuchKey') : null)
    await expect(place().open()).rejects.toMatchObject({ code: 'blobs_unwritable' })
    expect(calls.length).toBeLessThan(20)
  })

  const page = (fields: string) =>
    xml(
      'ListBucketResult',
      `${fields}<Contents><Key>old/packs/20260101-0123456789abcdef.pack</Key><Size>9</Size><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`,
    )
  it.each([
    ['is cut off', () => page('<IsTruncated>true</IsTruncated>')],
    [
      'goes round in circles',
      () => page('<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>'),
    ],
  ])('does not take a listing that %s for all there is', async (_what, body) => {
    fault = (call) => (nameOf(call) === 'list' ? { status: 200, body: body() } : null)
    const listing = (async () => {
      for await (const _ of place().list()) if (calls.length > 50) throw new Error('endless')
    })()
    await expect(listing).rejects.toMatchObject({ code: 'blobs_unwritable' })
  })

  it.each<[string, Fault]>([
    ['is reset', 'reset'],
    ['is cut short', { status: 206, body: 'half', headers: { 'content-length': '10', connection: 'close' } }],
  ])('reports a read that %s as an outage, not as a damaged pack', async (_what, failure) => {
    fault = () => failure
    await expect(place().read('20260101-0123456789abcdef', 8, 10)).rejects.toMatchObject({ code: 'pages_down' })
  })
})
