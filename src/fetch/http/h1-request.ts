import { ShoalError } from '../../errors.js'
import { OF_THE_CONNECTION, type WireRequest } from './wire.js'

/** Headers as they are written; a spider sends the same list with every request. */
interface LaidOut {
  readonly headers: readonly string[]
  readonly block: string
  readonly host: string | null
  /** `connection: close`: each request has a connection of its own. */
  readonly asksToClose: boolean
  /** The name of a header that cannot be sent. */
  readonly wrong: string | null
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** One line of Latin-1. Of any other letter the lower byte would be sent, and that of `Ċ` is a line feed. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

let last: LaidOut = layOut([])

export function asksToClose(headers: readonly string[]): boolean {
  return laidOut(headers).asksToClose
}

/** Request line and headers. A line end in any of its parts would be a header or a request of somebody else: it is refused. */
export function requestText({ path, method, headers, body }: WireRequest, origin: string, keep: boolean): string {
  if (/[^\x21-\x7e]/.test(path) || !/^[A-Za-z-]+$/.test(method)) throw refused(origin, 'its path or method')
  const { block, host, wrong } = laidOut(headers)
  if (wrong !== null) throw refused(origin, `its header ${JSON.stringify(wrong.slice(0, 100))}`)
  const connection = keep ? 'keep-alive' : 'close'
  const place = host ?? origin.slice(origin.indexOf('//') + 2)
  return `${method} ${path} HTTP/1.1\r\nhost: ${place}\r\nconnection: ${connection}\r\n${lengthOf(method, body)}${block}\r\n`
}

function laidOut(headers: readonly string[]): LaidOut {
  if (headers !== last.headers) last = layOut(headers)
  return last
}

function layOut(headers: readonly string[]): LaidOut {
  let block = ''
  let host: string | null = null
  let asksToClose = false
  let wrong: string | null = null
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (!NAME.test(name) || !VALUE.test(value)) wrong = name
    if (name === 'host') host = value
    else if (name === 'connection') asksToClose = value.toLowerCase() === 'close'
    else if (!OF_THE_CONNECTION.has(name)) block += `${name}: ${value}\r\n`
  }
  return { headers, block, host, asksToClose, wrong }
}

function refused(origin: string, what: string): ShoalError {
  return new ShoalError('bad_url', `${origin}: the request cannot be sent: ${what} has characters that are not allowed`)
}

function lengthOf(method: string, body: string | null): string {
  if (body !== null) return `content-length: ${Buffer.byteLength(body)}\r\n`
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : ''
}
