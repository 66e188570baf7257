import type { IncomingMessage } from 'node:http'
import { ShoalError } from '../errors.js'

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
  refuseDeep(text)
  try {
    return JSON.parse(text, (key, value: unknown) => {
      if (key === '__proto__') throw new ShoalError('bad_request', '__proto__ is not allowed')
      return value
    })
  } catch (error) {
    throw error instanceof ShoalError ? error : new ShoalError('bad_request', 'the body is not JSON')
  }
}

/** Checked before parsing, because the parser has no depth limit. */
function refuseDeep(text: string): void {
  let depth = 0
  let quoted = false
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i]
    if (quoted) {
      if (character === '\\') i += 1
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth > DEPTH_MOST) throw new ShoalError('bad_request', `the body is nested deeper than ${DEPTH_MOST} levels`)
  }
}

function tooLarge(): ShoalError {
  return new ShoalError('bad_request', `the body is larger than ${BODY_MOST / 1024} KiB`)
}
