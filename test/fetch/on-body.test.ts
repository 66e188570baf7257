import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Fetcher } from '../../src/fetch/fetcher.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { codeOf, LIMITS, LOOPBACK, never, newFetcher } from './support.js'

let server: BadServer
let fetcher: Fetcher
beforeAll(async () => {
  server = await startBadServer()
  fetcher = newFetcher()
})
afterAll(async () => {
  await fetcher.close()
  await server.close()
})

const fetchInPieces = async (path: string, maxBodyBytes = LIMITS.maxBodyBytes) => {
  const pieces: Uint8Array[] = []
  const request = {
    ...{ url: server.origin + path, limits: { ...LIMITS, maxBodyBytes }, allowPrivate: LOOPBACK },
    onBody: (piece: Uint8Array) => void pieces.push(Buffer.from(piece)),
  }
  return { response: await fetcher.fetch(request, never), body: Buffer.concat(pieces) }
}

it('hands the body over as it came, and keeps nothing of it', async () => {
  const plain = await fetcher.fetch({ url: `${server.origin}/gzip`, limits: LIMITS, allowPrivate: LOOPBACK }, never)
  const { response, body } = await fetchInPieces('/gzip')
  expect(response.body).toHaveLength(0)
  expect(response.wireBytes).toBe(body.length)
  expect(gunzipSync(body)).toEqual(Buffer.from(plain.body))
  const chunked = await fetcher.fetch(
    { url: `${server.origin}/chunked`, limits: LIMITS, allowPrivate: LOOPBACK },
    never,
  )
  expect((await fetchInPieces('/chunked')).body).toEqual(Buffer.from(chunked.body))
})

it('keeps to the cap', async () => {
  expect(await codeOf(fetchInPieces('/chunked', 1))).toBe('too_large')
})
