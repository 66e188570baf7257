import { ShoalError } from '../../errors.js'
import { OF_THE_CONNECTION, type WireRequest } from './wire.js'

let lastHeaders: readonly string[] = []
let lastBlock = ''
let lastHost: string | null = null

/** Status line and headers of a request. A line end in any of its parts would be a second request: nothing but printable ASCII is accepted. */
export function requestText({ path, method, headers, body }: WireRequest, origin: string, keep: boolean): string {
  if (/[^\x21-\x7e]/.test(path) || !/^[A-Za-z-]+$/.test(method))
    throw new ShoalError(
      'bad_url',
      `${origin}: the request cannot be sent: its path or method has characters that are not allowed`,
    )
  // A spider sends the same list with every request.
  if (headers !== lastHeaders) layOut(headers)
  const host = lastHost ?? origin.slice(origin.indexOf('//') + 2)
  const connection = keep ? 'keep-alive' : 'close'
  return `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n${lengthOf(method, body)}${lastBlock}\r\n`
}

function layOut(headers: readonly string[]): void {
  let block = ''
  let host: string | null = null
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    if (name === 'host') host = headers[i + 1] ?? null
    else if (!OF_THE_CONNECTION.has(name)) block += `${name}: ${headers[i + 1]}\r\n`
  }
  lastHeaders = headers
  lastBlock = block
  lastHost = host
}

function lengthOf(method: string, body: string | null): string {
  if (body !== null) return `content-length: ${Buffer.byteLength(body)}\r\n`
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? 'content-length: 0\r\n' : ''
}
