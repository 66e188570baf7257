import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { lastJson, runCli, tempDir } from '../support/cli.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

it('a route without a proxy has the whole pace of its host, in a spider that has proxies for other routes', async () => {
  let underWay = 0
  let most = 0
  const server = createServer((_request, answer) => {
    most = Math.max(most, ++underWay)
    setTimeout(() => {
      underWay--
      answer.end('<title>page</title>')
    }, 100)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => server.close())
  const { port } = server.address() as AddressInfo
  const dir = tempDir('direct-route')
  cleanups.push(() => dir.remove())
  const start = JSON.stringify(Array.from({ length: 16 }, (_, nth) => `http://127.0.0.1:${port}/page/${nth}`))
  writeFileSync(join(dir.path, 'proxies.txt'), 'http://127.0.0.1:9')
  writeFileSync(
    join(dir.path, 'shop.ts'),
    `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'shop', start: ${start}, robots: false, allowPrivate: ['127.0.0.1:*'], pace: { delay: '0ms', concurrency: 4 },
  routes: { page: { match: '/page/*' }, picky: { match: '/picky/*', proxy: 'default' } },
})
`,
  )
  const { code, stdout } = await runCli(['run', 'shop.ts', '--proxies', 'proxies.txt', '--json'], { cwd: dir.path })
  expect(code).toBe(0)
  expect(lastJson(stdout)).toMatchObject({ pages: 16, dead: 0 })
  expect(most).toBe(4)
})
