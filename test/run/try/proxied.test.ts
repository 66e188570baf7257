import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tryPage } from '../../../src/run/try/try-page.js'
import { defineSpider } from '../../../src/spider/definition.js'
import { spiderFromDefinition } from '../../../src/spider/resolve.js'
import { startProxy } from '../../support/proxy-server.js'

it('no request of a spider with a proxy comes from our own address', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-try-'))
  const asked: string[] = []
  const site = createServer((request, answer) => {
    asked.push(`${request.url} ${request.socket.remoteAddress?.replace('::ffff:', '')}`)
    answer.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Tome 1</h1>')
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  const proxy = await startProxy({ proxyAddress: '127.0.0.9' })
  try {
    const host = `127.0.0.1:${(site.address() as AddressInfo).port}`
    const pools = join(dir, 'pools.json')
    writeFileSync(pools, JSON.stringify({ office: { entries: [proxy.url] } }))
    const spider = spiderFromDefinition(
      defineSpider({
        ...{ name: 'proxied', start: [`http://${host}/`], allowPrivate: [host], pace: { delay: 0 }, proxy: 'office' },
        routes: { page: { match: '**', follow: [{ links: 'a' }] } },
      }),
    )
    const settings = { proxies: pools, pool: null, country: null, browser: null, cache: null }
    const order = {
      url: `http://${host}/`,
      route: null,
      given: null,
      rendered: false,
      fresh: false,
      save: null,
      settings,
    }
    const { source } = await tryPage(spider, order)
    expect(source).toMatchObject({ kind: 'network', proxy: expect.stringContaining('office') })
    expect(asked).toEqual(['/robots.txt 127.0.0.9', '/ 127.0.0.9'])
    await expect(tryPage(spider, { ...order, settings: { ...settings, proxies: null } })).rejects.toMatchObject({
      code: 'proxy_unknown',
    })
    expect(asked).toHaveLength(2)
  } finally {
    await proxy.stop()
    site.closeAllConnections()
    site.close()
    rmSync(dir, { recursive: true })
  }
})
