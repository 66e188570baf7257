import { once } from 'node:events'
import { createServer } from 'node:http'
import { ProxyAgent, request, Socks5ProxyAgent } from 'undici'
import { afterEach, expect, it } from 'vitest'
import { startProxies, startProxy } from './proxy-server.js'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

/** Answers with the address it is asked from. */
async function mirror(): Promise<string> {
  const server = createServer((incoming, answer) => answer.end(incoming.socket.remoteAddress))
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  cleanups.push(async () => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/`
}

it('each has an address of its own, in the clear and through a tunnel', async () => {
  const url = await mirror()
  const proxies = await startProxies(3, 9)
  cleanups.push(...proxies.map((proxy) => proxy.stop))
  for (const [index, { url: uri, seen }] of proxies.entries()) {
    for (const proxyTunnel of [false, true]) {
      const dispatcher = new ProxyAgent({ uri, proxyTunnel })
      const { body } = await request(url, { dispatcher })
      expect(await body.text()).toBe(`127.0.9.${index + 1}`)
      await dispatcher.destroy()
    }
    expect(seen.targets).toHaveLength(2)
  }
})

it('asks for a login, and refuses a wrong one', async () => {
  const url = await mirror()
  const proxy = await startProxy({ login: { username: 'anna', password: 'p@ss' } })
  cleanups.push(proxy.stop)
  const right = new ProxyAgent({ uri: proxy.url, proxyTunnel: false })
  expect((await request(url, { dispatcher: right })).statusCode).toBe(200)
  const wrong = new ProxyAgent({ uri: proxy.url.replace('anna', 'otto'), proxyTunnel: false })
  await expect(request(url, { dispatcher: wrong })).rejects.toThrow('407')
  expect(proxy.seen).toMatchObject({ users: ['anna'], refusedLogins: 1 })
  await Promise.all([right.destroy(), wrong.destroy()])
})

it('speaks SOCKS5 with a login', async () => {
  const url = await mirror()
  const proxy = await startProxy({ kind: 'socks5', proxyAddress: '127.0.8.1', login: { username: 'a', password: 'b' } })
  cleanups.push(proxy.stop)
  const dispatcher = new Socks5ProxyAgent(proxy.url)
  expect(await (await request(url, { dispatcher })).body.text()).toBe('127.0.8.1')
  await dispatcher.destroy()
  expect(proxy.seen.users).toEqual(['a'])
})

it('can be dead', async () => {
  const url = await mirror()
  const proxy = await startProxy()
  cleanups.push(proxy.stop)
  proxy.mode = 'dead'
  const dispatcher = new ProxyAgent({ uri: proxy.url, proxyTunnel: false })
  await expect(request(url, { dispatcher })).rejects.toThrow()
  await dispatcher.destroy()
})
