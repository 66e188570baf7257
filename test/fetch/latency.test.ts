import { Worker } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { get, newFetcher } from './support.js'

/** In a thread of its own, because the thread of the test is the busy one. */
const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:http').createServer((_, answer) => setTimeout(() => answer.end('page'), workerData))
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`
const HANDLER_MS = 50

let server: Worker | null = null
afterEach(() => server?.terminate())

async function originOf(serverMs: number): Promise<string> {
  const started = new Worker(SERVER, { eval: true, workerData: serverMs })
  server = started
  const port = await new Promise((resolve, reject) => {
    started.once('message', resolve)
    started.once('error', reject)
  })
  return `http://127.0.0.1:${port}/`
}

it.each([
  { serverMs: 1, atOnce: 4, from: 0, to: 20 },
  { serverMs: 200, atOnce: 6, from: 160, to: 400 },
])('a server of $serverMs ms is seen as such by a thread that is busy with pages', async (given) => {
  const { serverMs, atOnce, from, to } = given
  const url = await originOf(serverMs)
  const fetcher = newFetcher()
  const seen: number[] = []
  const visit = async () => {
    for (let n = 0; n < 5; n++) {
      const { ms } = await get(fetcher, url)
      seen.push(ms)
      const until = performance.now() + HANDLER_MS
      while (performance.now() < until);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, visit))
  await fetcher.close()
  const median = seen.toSorted((a, b) => a - b)[Math.floor(seen.length / 2)]
  expect(median).toBeGreaterThanOrEqual(from)
  expect(median).toBeLessThan(to)
})
