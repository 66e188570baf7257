import { afterAll, beforeAll, expect, it } from 'vitest'
import { ERRORS, ShoalError } from '../../../src/errors.js'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import { get, newFetcher } from '../support.js'
import { BEHAVIOURS, OTHERWISE, outcomeOf, TEXT } from './behaviours.js'
import { behave, type RawServer, startRawServer } from './raw-server.js'

let server: RawServer
let fetcher: Fetcher
beforeAll(async () => {
  server = await startRawServer(behave)
  fetcher = newFetcher()
})
afterAll(async () => {
  await fetcher.close()
  await server.close()
})

async function fetched(path: string): Promise<string> {
  try {
    const { body } = await get(fetcher, server.origin + path, { totalMs: 400 })
    return Buffer.from(body).toString()
  } catch (error) {
    if (error instanceof ShoalError) return error.code
    throw error
  }
}

it(`${BEHAVIOURS.length} ways to answer: a page, or the error of the table`, async () => {
  const wrong: string[] = []
  for (const [index, behaviour] of BEHAVIOURS.entries()) {
    const seen = await fetched(`/${index}`)
    const expected = outcomeOf(behaviour).shoal
    if (seen !== expected) wrong.push(`${behaviour.name}: ${expected} expected, ${seen} seen`)
  }
  expect(wrong).toEqual([])
}, 30_000)

it('a difference to what Chromium shows has its reason', () => {
  const isPage = (outcome: string) =>
    !(outcome in ERRORS || outcome.startsWith('ERR_') || outcome === 'download' || outcome === 'waits')
  for (const [name, { chromium, shoal, because }] of Object.entries(OTHERWISE)) {
    const differs = chromium !== shoal && (isPage(chromium) || isPage(shoal))
    expect([name, because !== undefined]).toEqual([name, differs])
  }
  expect(new Set(BEHAVIOURS.map(({ name }) => name)).size).toBe(BEHAVIOURS.length)
  expect(Object.keys(OTHERWISE).filter((name) => !BEHAVIOURS.some((one) => one.name === name))).toEqual([])
})

it('after a response that breaks the rules the connection is not used again', async () => {
  const odd = [
    'Content-Length twice, equal',
    'Content-Length: 12, 12',
    'Content-Length and chunked',
    'Transfer-Encoding: identity with a length',
    'Transfer-Encoding: identity, chunked',
    'HTTP/1.0 without keep-alive',
    'HTTP/2.0 in clear text',
    'empty line before the status line',
    'bare LF',
    'bare LF at the end of the headers only',
    'folded header',
    'space before the colon',
    'space in a name',
    'header without a colon',
    'bytes after the last chunk',
    '204 with a body',
    'a second response',
    'Connection: close, but it stays open',
    'http/1.1 in lower case',
  ]
  const good = BEHAVIOURS.findIndex(({ name }) => name === 'no space after the colon')
  for (const name of odd) {
    const index = BEHAVIOURS.findIndex((one) => one.name === name)
    const own = newFetcher()
    const before = server.connections()
    await get(own, `${server.origin}/${index}`)
    expect(Buffer.from((await get(own, `${server.origin}/${good}`)).body).toString()).toBe(TEXT)
    expect([name, server.connections() - before]).toEqual([name, 2])
    await get(own, `${server.origin}/${good}`)
    // Whoever answers twice is not trusted with a kept connection again.
    expect([name, server.connections() - before]).toEqual([name, name === 'a second response' ? 3 : 2])
    await own.close()
  }
})
