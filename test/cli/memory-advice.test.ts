import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

it('status names memory when a heap is nearly full', async () => {
  const server = createServer((_request, response) => void response.end('<h1>page</h1>'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dir = tempDir('memory-advice')
  writeFileSync(
    join(dir.path, 'hoard.ts'),
    `import { getHeapStatistics } from 'node:v8'
import { defineSpider } from 'shoal'
const hoard: unknown[] = []
const full = () => {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return used > (limit - 48 * 2 ** 20) * 0.92
}
export default defineSpider({
  name: 'hoard', robots: false, allowPrivate: ['127.0.0.1:*'], pace: { delay: '200ms', concurrency: 1 },
  start: Array.from({ length: 500 }, (_, nth) => '${origin}/' + nth),
  routes: { page: { match: '**', handler() { while (!full()) hoard.push(new Array(20_000).fill(hoard.length)) } } },
})
`,
  )
  const { child, result } = startCli(['run', 'hoard.ts'], {
    cwd: dir.path,
    env: { NODE_OPTIONS: '--max-old-space-size=160' },
  })
  try {
    const look = async () => {
      const { stdout } = await runCli(['status', '--json'], { cwd: dir.path })
      return stdout === '' ? null : lastJson(stdout).advice
    }
    await expect
      .poll(look, { timeout: 25_000, interval: 500 })
      .toMatchObject({ stage: 'memory', sentence: expect.stringContaining('% full') })
  } finally {
    child.kill('SIGKILL')
    await result
    server.closeAllConnections()
    server.close()
    dir.remove()
  }
})
