import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isAlive } from '../run/workers/processes.js'
import { lastJson, runCli, startCli, tempDir } from '../support/cli.js'

const HOSTS = 40
const PAGES_PER_HOST = 50

/** Hosts that take their time: one worker with two slots keeps few of them busy, and hardly any CPU. */
async function slowSite() {
  const server = createServer((_, response) => {
    setTimeout(() => response.end('<p>slow</p>'), 400)
  })
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  return { port: (server.address() as AddressInfo).port, close: () => server.close().closeAllConnections() }
}

it('worker --procs auto --max starts the processes that hosts can keep busy, and all of them end with it', async () => {
  const dir = tempDir('useful-processes')
  const site = await slowSite()
  try {
    writeFileSync(
      join(dir.path, 'slow.mjs'),
      `import { defineSpider } from 'shoal'
       const hosts = Array.from({ length: ${HOSTS} }, (_, nth) => 'http://127.0.0.' + (nth + 1) + ':${site.port}')
       const start = hosts.flatMap((host) => Array.from({ length: ${PAGES_PER_HOST} }, (_, nth) => host + '/' + nth))
       export default defineSpider({
         name: 'slow', start, robots: false, allowPrivate: hosts.map((host) => new URL(host).host),
         pace: { delay: '500ms' },
         routes: { page: { match: '/**' } },
       })`,
    )
    const options = { cwd: dir.path }
    expect(await runCli(['start', 'slow.mjs'], options)).toMatchObject({ code: 0 })
    const flags = ['--procs', 'auto', '--max', '3', '--concurrency', '2', '--grace', '3s', '--log-level', 'info']
    const { child, result } = startCli(['worker', 'slow.mjs', ...flags], options)
    let log = ''
    child.stderr?.on('data', (chunk: string) => {
      log += chunk
    })
    await expect.poll(() => log, { timeout: 60_000, interval: 200 }).toContain('"processes":2')
    const status = lastJson((await runCli(['status', '--json'], options)).stdout)
    expect(status.useful).toMatchObject({ running: expect.any(Number), why: expect.any(String) })
    const pids = (status.workers as { pid: number }[]).map(({ pid }) => pid)
    child.kill('SIGTERM')
    const { code, stderr } = await result
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/useful, 0 elsewhere: .* left on 40 hosts/),
    })
    expect(pids.filter(isAlive)).toEqual([])
  } finally {
    site.close()
    dir.remove()
  }
}, 90_000)

it('worker --max without --procs auto is a usage error with a next step', async () => {
  expect(await runCli(['worker', 'books.ts', '--max', '4'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Pass --procs auto --max 4'),
  })
  expect((await runCli(['worker', 'books.ts', '--procs', 'auto', '--max', '0'])).code).toBe(2)
})
