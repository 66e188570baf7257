import { createHash, randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { type KeptPage, pageStatus } from '../kept-pages.js'
import { isoTime } from './columns.js'

/** A record of ISO 28500 (WARC 1.1), ready to be written. */
export interface WarcRecord {
  readonly id: string
  readonly bytes: Buffer
}

/** The record a page's bytes are found in already. */
export interface EarlierRecord {
  readonly url: string
  readonly at: number
  /** Of the body. */
  readonly length: number
}

/** Describes the file it begins. */
export function infoRecord(fields: Readonly<Record<string, string>>, at: number): WarcRecord {
  const block = Buffer.from(fieldLines(Object.entries(fields)))
  return record('warcinfo', [['WARC-Date', isoTime(at)]], 'application/warc-fields', block)
}

/** A page as the server answered it, with the body as it was stored. */
export function responseRecord(page: KeptPage, body: Uint8Array, info: string): WarcRecord {
  const block = Buffer.concat([httpHead(page, body.length), body])
  return record('response', pageFields(page, info), 'application/http; msgtype=response', block)
}

/** The same bytes again: only the head of the answer, and where the body is. */
export function revisitRecord(page: KeptPage, earlier: EarlierRecord, info: string): WarcRecord {
  const fields: Field[] = [
    ...pageFields(page, info),
    ['WARC-Profile', 'http://netpreserve.org/warc/1.1/revisit/identical-payload-digest'],
    ['WARC-Refers-To-Target-URI', earlier.url],
    ['WARC-Refers-To-Date', isoTime(earlier.at)],
  ]
  return record('revisit', fields, 'application/http; msgtype=response', httpHead(page, earlier.length))
}

type Field = readonly [name: string, value: string]

function pageFields({ url, at, page }: KeptPage, info: string): Field[] {
  return [
    ['WARC-Date', isoTime(at)],
    ['WARC-Target-URI', url],
    ['WARC-Warcinfo-ID', info],
    ['WARC-Payload-Digest', page],
  ]
}

function record(type: string, fields: readonly Field[], contentType: string, block: Uint8Array): WarcRecord {
  const id = `<urn:uuid:${randomUUID()}>`
  const head = fieldLines([
    ['WARC-Type', type],
    ['WARC-Record-ID', id],
    ...fields,
    ['WARC-Block-Digest', `sha256:${createHash('sha256').update(block).digest('hex')}`],
    ['Content-Type', contentType],
    ['Content-Length', String(block.length)],
  ])
  return { id, bytes: Buffer.concat([Buffer.from(`WARC/1.1\r\n${head}\r\n`), block, Buffer.from('\r\n\r\n')]) }
}

/** Of one connection, or of a body that was still packed. */
const NOT_OF_THE_PAGE = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function httpHead({ status: answered, headers }: KeptPage, length: number): Buffer {
  const status = pageStatus(answered)
  const kept = Object.entries(headers ?? {}).filter(([name]) => !NOT_OF_THE_PAGE.has(name.toLowerCase()))
  const lines = fieldLines([...kept, ['content-length', String(length)]])
  // Node reads the bytes of headers as Latin-1; written so, they are what they were.
  return Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines}\r\n`, 'latin1')
}

/** No value can begin a line of its own. */
function fieldLines(fields: readonly Field[]): string {
  return fields.map(([name, value]) => `${name}: ${value.replaceAll(/[\r\n]+/g, ' ')}\r\n`).join('')
}
