import { crc32 } from 'node:zlib'
import { z } from 'zod'
import type { FetchResponse } from '../fetcher.js'

/**
 * A kept response as the bytes of a file: a line with a checksum and two lengths, the head as JSON, the body as it was decoded. Plain text, so that
 * people can open an entry in an editor and search the folder with grep.
 */
export interface Entry {
  readonly response: FetchResponse
  /** For people who open the file. */
  readonly method: string
  readonly at: number
}

const FIRST_LINE = /^shoal-cache 1 ([0-9a-f]{8}) (\d{1,9}) (\d{1,9})\n$/
const MOST_FIRST_LINE = 64
const NEWLINE = 0x0a

const headSchema = z.object({
  url: z.string(),
  method: z.string(),
  at: z.number(),
  status: z.int().min(100).max(999),
  headers: z.record(z.string(), z.string()),
  wireBytes: z.number(),
  ms: z.number(),
  rendered: z.object({ requests: z.number(), bytes: z.number() }).optional(),
})

/** Without cookies: they are the keys to somebody's session, and yesterday's are of no use today. Without the screenshot, which nobody asks a kept page for. */
export function encodeEntry({ response, method, at }: Entry): Buffer {
  const { url, status, headers, wireBytes, ms, body } = response
  const { rendered } = response
  const head = Buffer.from(
    JSON.stringify({
      ...{ url, method, at, status, headers, wireBytes, ms },
      ...(rendered && { rendered: { requests: rendered.requests, bytes: rendered.bytes } }),
    }),
  )
  const sum = checksum(head, body)
  return Buffer.concat([Buffer.from(`shoal-cache 1 ${sum} ${head.length} ${body.length}\n`), head, body])
}

/** Null: damaged, cut off, or no entry at all. */
export function decodeEntry(bytes: Uint8Array): Entry | null {
  const end = bytes.subarray(0, MOST_FIRST_LINE).indexOf(NEWLINE) + 1
  const first = FIRST_LINE.exec(Buffer.from(bytes.subarray(0, end)).toString('latin1'))
  if (first === null) return null
  const [, sum, headBytes, bodyBytes] = first
  const bodyAt = end + Number(headBytes)
  if (bytes.length !== bodyAt + Number(bodyBytes)) return null
  const head = bytes.subarray(end, bodyAt)
  const body = bytes.subarray(bodyAt)
  if (checksum(head, body) !== sum) return null
  const read = headSchema.safeParse(parsed(Buffer.from(head).toString()))
  if (!read.success) return null
  const { method, at, rendered, ...rest } = read.data
  const response = { ...rest, cookies: [], body, ...(rendered && { rendered: { ...rendered, screenshot: null } }) }
  return { response, method, at }
}

function checksum(head: Uint8Array, body: Uint8Array): string {
  return crc32(body, crc32(head)).toString(16).padStart(8, '0')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
