import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import { type ProxyOptions, startProxy, type TestProxy } from '../../support/proxy-server.js'
import { GOOD, KEY } from '../../support/test-only-certificates.js'
import { codeOf } from '../support.js'
import { newBrowser, rendered, type Site, startSite } from './support.js'

let site: Site
let fetcher: Fetcher
const visitors: string[] = []
const proxies: TestProxy[] = []

beforeAll(async () => {
  site = await startSite({
    '/': (request, response) => {
      visitors.push(`page ${request.socket.remoteAddress}`)
      response.setHeader('content-type', 'text/html').end('<b></b><script src="/app.js"></script>')
    },
    '/app.js': (request, response) => {
      visitors.push(`script ${request.socket.remoteAddress}`)
      response.setHeader('content-type', 'text/javascript').end('document.querySelector("b").textContent = "ran"')
    },
  })
  fetcher = newBrowser()
})

afterAll(async () => {
  await fetcher.close()
  await site.close()
  for (const proxy of proxies) await proxy.stop()
})

const login = { username: 'me', password: 'p:ss' }

async function through(options: ProxyOptions, password = login.password) {
  const proxy = await startProxy({ ...options, login })
  proxies.push(proxy)
  visitors.length = 0
  const { kind: protocol = 'http' } = options
  const server = { protocol, host: '127.0.0.1', port: proxy.port, username: login.username, password }
  // The name exists for the proxy alone.
  return rendered(fetcher, `http://shop.example:${site.port}/`, {}, { proxy: server })
}

describe('a rendered page through a proxy', () => {
  it.each([
    ['http', '127.0.0.7'],
    ['socks5', '127.0.0.8'],
  ] as const)('comes from the proxy with all that it loads: %s', async (kind, proxyAddress) => {
    const page = await through({ kind, proxyAddress })
    expect(Buffer.from(page.body).toString()).toContain('<b>ran</b>')
    expect(visitors).toEqual([`page ${proxyAddress}`, `script ${proxyAddress}`])
  })

  it('fails as the proxy does', async () => {
    expect(await codeOf(through({}, 'wrong'))).toBe('proxy_error')
    expect(await codeOf(through({ kind: 'socks5' }, 'wrong'))).toBe('proxy_error')
    expect(visitors).toEqual([])
  })
})

it('does not trust a certificate that nobody vouches for', async () => {
  const server = createServer({ cert: GOOD, key: KEY }, (_request, response) => response.end('ok'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await codeOf(rendered(fetcher, `https://127.0.0.1:${port}/`))).toBe('tls_error')
  server.closeAllConnections()
  server.close()
})
