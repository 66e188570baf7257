import { ShoalError } from '../../errors.js'
import { OF_THE_CONNECTION, type WireRequest } from './wire.js'

/** Headers as they are written; a spider sends the same list with every request. */
interface LaidOut {
  readonly headers: readonly string[]
  readonly block: string
  readonly host: string | null
  /** `connection: close`: each request has a connection of its own. */
  readonly asksToClose: boolean
}

let last: LaidOut = layOut([])

export function asksToClose(headers: readonly string[]): boolean {
  return laidOut(headers).asksToClose
}

/** Request line and headers. A line end in any of its parts would be a second request: nothing but printable ASCII is accepted. */
export function requestText({ path, method, headers, body }: WireRequest, origin: string, keep: boolean): string {
  if (/[^\x21-\x7e]/.test(path) || !/^[A-Za-z-]+$/.test(method))
    throw new ShoalError(
      'bad_url',
      `${origin}: the request cannot be sent: its path or method has characters that are not allowed`,
    )
  const { block, host } = laidOut(headers)
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
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1] ?? ''
    if (name === 'host') host = value
    else if (name === 'connection') asksToClose = value.toLowerCase() === 'close'
    else if (!OF_THE_CONNECTION.has(name)) block += `${name}: ${value}\r\n`
  }
  return { headers, block, host, asksToClose }
}

function lengthOf(method: string, body: string | null): string {
  if (body !== null) return `content-length: ${Buffer.byteLength(body)}\r\n`
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : ''
}
