import { afterEach, expect, it } from 'vitest'
import { burn, startSlowServer } from '../support/slow-server.js'
import { get, newFetcher } from './support.js'

const HANDLER_MS = 50

let close: () => Promise<unknown> = async () => {}
afterEach(() => close())

it.each([
  { serverMs: 1, atOnce: 4, from: 0, to: 20 },
  { serverMs: 200, atOnce: 6, from: 160, to: 400 },
])('a server of $serverMs ms is seen as such by a thread that is busy with pages', async (given) => {
  const { serverMs, atOnce, from, to } = given
  const server = await startSlowServer(serverMs)
  close = server.close
  const fetcher = newFetcher()
  const seen: number[] = []
  const visit = async () => {
    for (let n = 0; n < 5; n++) {
      const { ms } = await get(fetcher, server.origin)
      seen.push(ms)
      burn(HANDLER_MS)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, visit))
  await fetcher.close()
  const median = seen.toSorted((a, b) => a - b)[Math.floor(seen.length / 2)]
  expect(median).toBeGreaterThanOrEqual(from)
  expect(median).toBeLessThan(to)
})
