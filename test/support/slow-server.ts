import { Worker } from 'node:worker_threads'

const SERVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  const server = require('node:http').createServer((_, answer) => setTimeout(() => answer.end('page'), workerData))
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

/** A server that takes `serverMs` for every response, in a thread of its own: the thread of the test is busy. */
export async function startSlowServer(serverMs: number): Promise<{ origin: string; close(): Promise<unknown> }> {
  const thread = new Worker(SERVER, { eval: true, workerData: serverMs })
  const port = await new Promise((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  return { origin: `http://127.0.0.1:${port}`, close: () => thread.terminate() }
}

/** What a handler does that needs `ms` of CPU. */
export function burn(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
