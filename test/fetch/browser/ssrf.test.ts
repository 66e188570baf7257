import { createSocket } from 'node:dgram'
import { createConnection } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import type { Lookup } from '../../../src/fetch/guard.js'
import { codeOf } from '../support.js'
import { newBrowser, rendered, type Site, startSite, startTripwire } from './support.js'

/** Every name leads to this machine; one of them beside a public address. */
const LOOPBACK = { address: '127.0.0.1', family: 4 }
const PUBLIC = { address: '192.0.43.8', family: 4 }
const asked: string[] = []
const lookup: Lookup = (name, done) => {
  asked.push(name)
  done(null, name === 'mixed.test' ? [PUBLIC, LOOPBACK] : [LOOPBACK])
}

let site: Site
let tripwire: Awaited<ReturnType<typeof startTripwire>>
let fetcher: Fetcher
const udp = createSocket('udp4')
let packets = 0

beforeAll(async () => {
  tripwire = await startTripwire()
  const { port } = tripwire
  await new Promise<void>((resolve) => udp.on('message', () => packets++).bind(port, '127.0.0.1', resolve))
  const hosts = [
    ...[
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '0.0.0.0',
      'localhost',
      'a.localhost',
      '127.0.0.2',
    ],
    ...['[::1]', '[::ffff:127.0.0.1]', '[::]', 'inside.test', 'mixed.test', '127.0.0.1.'],
  ]
  const places = hosts.map((host) => `${host}:${port}`)
  const plainly = places.map(
    (place) =>
      `tries.push(fetch('http://${place}/fetch', { mode: 'no-cors' }).catch(String)); add('<img src="http://${place}/img">')`,
  )
  const everyWay = ['127.0.0.1', 'localhost', 'inside.test'].map((host) => {
    const place = `${host}:${port}`
    return `
      tries.push(new Promise((done) => { const s = new WebSocket('ws://${place}/ws'); s.onerror = s.onclose = done }))
      tries.push(fetch('https://${place}/tls', { mode: 'no-cors' }).catch(String))
      add('<iframe src="http://${place}/frame"></iframe><object data="http://${place}/o"></object><video src="http://${place}/v"></video>')
      add('<link rel="stylesheet" href="http://${place}/x.css"><link rel="dns-prefetch" href="//${place}"><link rel="preconnect" href="http://${place}">')
      document.head.append(Object.assign(document.createElement('script'), { src: 'http://${place}/x.js' }))
      navigator.sendBeacon('http://${place}/beacon', 'x')
      new EventSource('http://${place}/events')
      new Worker(URL.createObjectURL(new Blob(["fetch('http://${place}/worker').catch(() => {})"])))`
  })
  site = await startSite({
    '/page': `<body><script>
      const tries = []
      const add = (html) => document.body.insertAdjacentHTML('beforeend', html)
      ${[...plainly, ...everyWay].join('\n')}
      try {
        const rtc = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${port}' }, { urls: 'turn:127.0.0.1:${port}?transport=tcp', username: 'u', credential: 'c' }] })
        rtc.createDataChannel('x'); rtc.createOffer().then((offer) => rtc.setLocalDescription(offer))
      } catch {}
      try { new WebTransport('https://127.0.0.1:${port}/wt') } catch {}
      navigator.serviceWorker?.register('/sw.js').catch(() => {})
      Promise.all(tries).then(() => document.body.insertAdjacentHTML('beforeend', '<b id="done">tried</b>'))
    </script>`,
    '/redirected': `<body><img src="/away"><script>
      fetch('/away', { mode: 'no-cors' }).catch(() => 0).then(() => document.body.insertAdjacentHTML('beforeend', '<b id="done">tried</b>'))
    </script><iframe src="/away"></iframe>`,
    '/away': (_request, response) => response.writeHead(302, { location: `http://127.0.0.1:${port}/redirected` }).end(),
    '/to-file':
      '<body><iframe src="file:///etc/passwd"></iframe><script>location.href = "file:///etc/passwd"</script>ok',
  })
  fetcher = newBrowser({ lookup })
})

afterAll(async () => {
  await fetcher.close()
  await site.close()
  tripwire.close()
  udp.close()
})

const wait = { wait: '#done', settleMs: 6_000, images: true }

describe('a rendered page', () => {
  it('reaches no forbidden address, in whatever way it tries', async () => {
    asked.length = 0
    const page = await rendered(fetcher, `${site.origin}/page`, {}, { render: wait })
    expect(Buffer.from(page.body).toString()).toContain('tried')
    expect(tripwire.connects()).toBe(0)
    expect(packets).toBe(0)
    // It did try: names were resolved for it, and judged.
    expect(new Set(asked)).toEqual(new Set(['inside.test', 'mixed.test']))
  })

  it('nor through redirects of what it loads', async () => {
    await rendered(fetcher, `${site.origin}/redirected`, {}, { render: wait })
    expect(site.requests.filter((path) => path === '/away').length).toBeGreaterThan(1)
    expect(tripwire.connects()).toBe(0)
  })

  it('nor reads files', async () => {
    const page = await rendered(fetcher, `${site.origin}/to-file`)
    expect(Buffer.from(page.body).toString()).toContain('ok')
  })

  it.each([
    ['a literal', () => `http://127.0.0.1:${tripwire.port}/`, 'private_address'],
    ['a name that leads inside', () => `http://inside.test:${tripwire.port}/`, 'private_address'],
    ['the same with TLS', () => `https://inside.test:${tripwire.port}/`, 'private_address'],
    ['an answer with one inner address', () => `http://mixed.test:${tripwire.port}/`, 'private_address'],
    ['a port of a database', () => 'http://site.test:6379/', 'blocked_port'],
  ])('is refused itself: %s', async (_what, url, code) => {
    expect(await codeOf(rendered(fetcher, url(), {}, { allowPrivate: [] }))).toBe(code)
    expect(tripwire.connects()).toBe(0)
  })

  it('is fetched where the spider allows the host', async () => {
    const port = new URL(site.origin).port
    const page = await rendered(
      fetcher,
      `http://site.test:${port}/to-file`,
      {},
      { allowPrivate: [`site.test:${port}`] },
    )
    expect(page.status).toBe(200)
  })
})

describe('the guarding proxy', () => {
  it('serves nobody without a login', async () => {
    const { startGuardProxy } = await import('../../../src/fetch/browser/guard-proxy.js')
    const { systemClock } = await import('../../../src/clock.js')
    const proxy = await startGuardProxy(lookup, systemClock)
    proxy.openWay()
    const [host, port] = proxy.address.split(':')
    const ask = (text: string) =>
      new Promise<string>((resolve) => {
        const socket = createConnection({ host: host ?? '', port: Number(port) }, () => socket.write(text))
        socket.once('data', (data) => {
          resolve(data.toString().split('\r\n')[0] ?? '')
          socket.destroy()
        })
      })
    const before = site.requests.length
    expect(await ask(`GET ${site.origin}/page HTTP/1.1\r\nHost: x\r\n\r\n`)).toContain('407')
    const login = Buffer.from('a:b').toString('base64')
    expect(
      await ask(`CONNECT ${new URL(site.origin).host} HTTP/1.1\r\nProxy-Authorization: Basic ${login}\r\n\r\n`),
    ).toContain('407')
    expect(site.requests).toHaveLength(before)
    await proxy.close()
  })
})
