import type { IncomingMessage } from 'node:http'
import { ShoalError } from '../errors.js'
import { isTextDeeperThan } from '../json/depth.js'

const BODY_MOST = 64 * 1024
/** Request bodies are flat: this is deep enough. */
const DEPTH_MOST = 16

/** The body as JSON. A body that is too large is not read to its end. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const type = request.headers['content-type'] ?? ''
  // A page of another site can send forms and plain text without a preflight request.
  if (!/^application\/json(?:\s*;\s*charset=utf-8)?$/i.test(type))
    throw new ShoalError('request_refused', 'the body must be application/json')
  if (Number(request.headers['content-length'] ?? 0) > BODY_MOST) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_MOST) throw tooLarge()
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  // Before it is parsed: the parser has no limit.
  if (isTextDeeperThan(text, DEPTH_MOST))
    throw new ShoalError('bad_request', `the body is nested deeper than ${DEPTH_MOST} levels`)
  try {
    return JSON.parse(text, (key, value: unknown) => {
      if (key === '__proto__') throw new ShoalError('bad_request', '__proto__ is not allowed')
      return value
    })
  } catch (error) {
    throw error instanceof ShoalError ? error : new ShoalError('bad_request', 'the body is not JSON')
  }
}

function tooLarge(): ShoalError {
  return new ShoalError('bad_request', `the body is larger than ${BODY_MOST / 1024} KiB`)
}
