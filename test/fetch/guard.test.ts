import net from 'node:net'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { judgeAddress, judgeUrl, type Lookup } from '../../src/fetch/guard.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { codeOf, LIMITS, never } from './support.js'

describe('judgeAddress', () => {
  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.168.1.1'],
    ...['198.18.0.1', '198.19.255.255', '198.51.100.7', '203.0.113.7', '224.0.0.1', '239.1.1.1', '240.0.0.1'],
    '255.255.255.255',
    ...['::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:10.0.0.1', '::7f00:1', '::8.8.8.8'],
    ...['64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b::169.254.169.254', '64:ff9b:1::8.8.8.8', '2002:7f00:1::'],
    ...['2002:808:808::1', '2001::1', '2001:0:4136:e378::1', '2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1'],
    ...[
      '3fff::1',
      '3fff:fff::1',
      'fc00::1',
      'fd12:3456::1',
      'fe80::1',
      'fe80::1%eth0',
      'febf::1',
      'fec0::1',
      'ff02::1',
    ],
    ...['100::1', '5f00::1', '::ffff:0:8.8.8.8', '4000::1', 'not an address'],
  ])('%s is not public', (address) => {
    expect(judgeAddress(address)).toEqual(expect.any(String))
  })

  it.each([
    ...['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.1.1.1', '128.0.0.1'],
    ...[
      '169.253.1.1',
      '172.15.255.255',
      '172.32.0.0',
      '192.0.1.1',
      '192.167.1.1',
      '198.17.1.1',
      '198.20.0.0',
      '223.1.1.1',
    ],
    ...['2606:4700:4700::1111', '2a00:1450:4001::1', '2001:4860:4860::8888', '2001:200::1', '3ffe::1', '3fff:1000::1'],
    ...['::ffff:8.8.8.8', '64:ff9b::8.8.8.8'],
  ])('%s is public', (address) => {
    expect(judgeAddress(address)).toBeNull()
  })

  it('an IPv4 address is judged alike however it is wrapped', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const verdict = judgeAddress(address)
        expect(judgeAddress(`::ffff:${address}`)).toBe(verdict)
        expect(judgeAddress(`64:ff9b::${address}`)).toBe(verdict)
        expect(judgeAddress(new URL(`http://[::ffff:${address}]`).hostname.slice(1, -1))).toBe(verdict)
      }),
    )
  })

  it('every IPv6 spelling is judged as its canonical one', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(judgeAddress(address)).toBe(judgeAddress(new URL(`http://[${address}]`).hostname.slice(1, -1)))
      }),
    )
  })
})

describe('judgeUrl', () => {
  const verdict = (url: string, allow: string[] = []) => judgeUrl(new URL(url), allow)?.code ?? 'ok'

  it.each([
    ...[
      '127.0.0.1',
      '127.1',
      '2130706433',
      '017700000001',
      '0x7f.1',
      '0',
      '1',
      '①②⑦.⓪.⓪.①',
      '127.0.0.1.',
      '0x7f000001',
    ],
    ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::7f00:1]', '[fe80::1]'],
    ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'good.com%2f@127.0.0.1', 'user:pass@10.0.0.1'],
  ])('http://%s/ is private', (host) => {
    expect(verdict(`http://${host}/`)).toBe('private_address')
    expect(verdict(`https://${host}:8443/`)).toBe('private_address')
  })

  it('judges the host that a URL parser sees', () => {
    expect(verdict('http://good.com\\@127.0.0.1/')).toBe('ok')
    expect(verdict('http://good.com/')).toBe('ok')
    expect(verdict('https://93.184.215.14/')).toBe('ok')
    expect(verdict('http://notlocalhost/')).toBe('ok')
  })

  it.each([22, 23, 25, 110, 143, 445, 1433, 2375, 3306, 5432, 5672, 6379, 9200, 11211, 27017])('port %i', (port) => {
    expect(verdict(`http://good.com:${port}/`)).toBe('blocked_port')
    expect(verdict(`http://good.com:${port}/`, [`good.com:${port}`])).toBe('ok')
  })

  it.each([80, 443, 8080, 8443, 3000, 8000])('port %i is open', (port) => {
    expect(verdict(`http://good.com:${port}/`)).toBe('ok')
  })

  it('lets through what the allow list names, and nothing beside it', () => {
    expect(verdict('http://127.0.0.1:8080/', ['127.0.0.1:8080'])).toBe('ok')
    expect(verdict('http://127.0.0.1:8081/', ['127.0.0.1:8080'])).toBe('private_address')
    expect(verdict('http://127.0.0.1:8081/', ['127.0.0.1:*'])).toBe('ok')
    expect(verdict('http://127.0.0.2:8081/', ['127.0.0.1:*'])).toBe('private_address')
    expect(verdict('http://localhost/', ['127.0.0.1:*'])).toBe('private_address')
    expect(verdict('http://localhost/', ['localhost:80'])).toBe('ok')
    expect(verdict('https://localhost/', ['Localhost:443'])).toBe('ok')
    expect(verdict('http://[::1]:9/', ['[::1]:*'])).toBe('ok')
    expect(verdict('ftp://127.0.0.1/', ['127.0.0.1:*'])).toBe('bad_scheme')
  })
})

describe('no forbidden connect', () => {
  let tripwire: BadServer
  beforeAll(async () => {
    tripwire = await startBadServer()
  })
  afterAll(() => tripwire.close())
  afterEach(() => vi.restoreAllMocks())

  const answers =
    (...rounds: string[][]): Lookup =>
    (_, done) => {
      const addresses = rounds.length > 1 ? rounds.shift() : rounds[0]
      done(
        null,
        (addresses ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    }

  const attempt = async (url: string, lookup: Lookup, allowPrivate: string[] = []) => {
    const fetcher = createHttpFetcher({ clock: systemClock, lookup })
    const code = await codeOf(fetcher.fetch({ url, limits: { ...LIMITS, connectMs: 500 }, allowPrivate }, never))
    await fetcher.close()
    return code
  }

  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '[::ffff:127.0.0.1]',
    '[::1]',
    '10.0.0.1',
    '169.254.169.254',
    'localhost',
  ])('a literal %s is refused without a socket and without a lookup', async (host) => {
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const lookup = vi.fn(answers(['127.0.0.1']))
    expect(await attempt(`http://${host}:${tripwire.port}/ok`, lookup)).toBe('private_address')
    expect(await attempt(`https://${host}:${tripwire.port}/ok`, lookup)).toBe('private_address')
    expect(connect).not.toHaveBeenCalled()
    expect(lookup).not.toHaveBeenCalled()
  })

  it.each([
    [['127.0.0.1']],
    [['::1']],
    [['::ffff:127.0.0.1']],
    [['93.184.215.14', '127.0.0.1']],
    [['127.0.0.1', '93.184.215.14']],
    [['64:ff9b::7f00:1']],
    [['169.254.169.254']],
  ])('a name that resolves to %j is refused whole', async (addresses) => {
    const before = tripwire.connections()
    for (const scheme of ['http', 'https']) {
      expect(await attempt(`${scheme}://name.test:${tripwire.port}/ok`, answers(addresses))).toBe('private_address')
    }
    expect(tripwire.connections()).toBe(before)
  })

  it('rebinding: every dial is judged anew, and each judgement is for one socket', async () => {
    // Allowed names reach loopback, which here plays the part of the public address; the second answer must be asked for.
    const lookup = vi.fn(answers(['127.0.0.1'], ['127.0.0.1']))
    const fetcher = createHttpFetcher({ clock: systemClock, lookup })
    const request = { url: `http://name.test:${tripwire.port}/close`, limits: LIMITS, allowPrivate: ['name.test:*'] }
    await fetcher.fetch(request, never)
    await fetcher.fetch(request, never)
    expect(lookup).toHaveBeenCalledTimes(2)
    // The same name without the allow list: another world, no kept connection to slip in through.
    const before = tripwire.connections()
    await fetcher.fetch({ ...request, url: `http://name.test:${tripwire.port}/ok` }, never)
    const kept = tripwire.connections()
    expect(kept).toBe(before + 1)
    expect(await codeOf(fetcher.fetch({ ...request, allowPrivate: [] }, never))).toBe('private_address')
    expect(await codeOf(fetcher.fetch({ ...request, allowPrivate: ['other.test:*'] }, never))).toBe('private_address')
    expect(tripwire.connections()).toBe(kept)
    await fetcher.close()
  })

  it.each(['http', 'https'])('rebinding over %s: a public answer, then a private one', async (scheme) => {
    const dialled: string[] = []
    vi.spyOn(net.Socket.prototype, 'connect').mockImplementation(function (this: net.Socket, ...args: unknown[]) {
      const options = (Array.isArray(args[0]) ? args[0][0] : args[0]) as net.TcpNetConnectOpts
      options.lookup?.(options.host ?? '', { all: true }, (error, addresses) => {
        if (error === null) dialled.push(...(addresses as { address: string }[]).map(({ address }) => address))
        // Not at once, as Node itself never does.
        setImmediate(() =>
          this.destroy(error ?? Object.assign(new Error('no network in tests'), { code: 'ECONNREFUSED' })),
        )
      })
      return this
    })
    const lookup = answers(['93.184.215.14'], ['10.0.0.1'])
    expect(await attempt(`${scheme}://name.test/`, lookup)).toBe('connect_error')
    expect(await attempt(`${scheme}://name.test/`, lookup)).toBe('private_address')
    expect(dialled).toEqual(['93.184.215.14'])
  })

  it('blocked ports, odd spellings and userinfo never reach a socket', async () => {
    const connect = vi.spyOn(net.Socket.prototype, 'connect')
    const lookup = answers(['93.184.215.14'])
    expect(await attempt('http://name.test:6379/', lookup)).toBe('blocked_port')
    expect(await attempt(`http://good.com%2f@127.0.0.1:${tripwire.port}/`, lookup)).toBe('private_address')
    expect(await attempt(`http:\\\\127.0.0.1:${tripwire.port}\\`, lookup)).toBe('private_address')
    expect(await attempt(`ht\ntp://127.0.0.1:${tripwire.port}/`, lookup)).toBe('private_address')
    expect(await attempt('gopher://127.0.0.1/', lookup)).toBe('bad_scheme')
    expect(connect).not.toHaveBeenCalled()
  })
})
