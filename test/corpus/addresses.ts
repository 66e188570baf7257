import net from 'node:net'
import type { Lookup } from '../../src/fetch/guard.js'
import { sitemap } from '../../src/spider/seed-sources.js'
import { honest, startProxy } from '../fetch/scripted-proxy.js'
import { codeOf, get, newFetcher } from '../fetch/support.js'
import { startBadServer } from '../support/bad-server.js'
import type { Bench, CrawlOptions } from './bench.js'
import type { Fixture } from './fixture.js'
import { reply } from './site.js'

/** Addresses that must never be dialled. Each case tells how many forbidden connects a spy on every socket has seen. */

/** Nothing leaves this machine: a dial of a public address is counted as such and fails. */
async function watched(bench: Bench, run: () => Promise<string>, sitePort = bench.site.port): Promise<string> {
  const { connect } = net.Socket.prototype
  let forbidden = 0
  const judge = (address: string, port: number): boolean => {
    const isSite = address === '127.0.0.1' && port === sitePort
    if (!isSite && !address.startsWith('93.184.')) forbidden++
    return isSite
  }
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    const options = (Array.isArray(args[0]) ? args[0][0] : args[0]) as net.TcpNetConnectOpts
    const host = options.host ?? ''
    const port = Number(options.port)
    const go = (address: string) => {
      if (judge(address, port)) Reflect.apply(connect, this, [{ ...options, host: address, lookup: undefined }])
      else this.destroy(Object.assign(new Error('not in tests'), { code: 'ECONNREFUSED' }))
    }
    if (net.isIP(host) !== 0 || options.lookup === undefined) go(host)
    else
      options.lookup(host, { all: true }, (error, answers) => {
        if (error !== null) this.destroy(error)
        else for (const { address } of (answers as { address: string }[]).slice(0, 1)) go(address)
      })
    return this
  } as typeof connect
  try {
    const outcome = await run()
    return `${outcome}, ${forbidden + bench.tripwire.connections()} connects`
  } finally {
    net.Socket.prototype.connect = connect
  }
}

const answering =
  (...rounds: string[][]): Lookup =>
  (_, done) => {
    const addresses = (rounds.length > 1 ? rounds.shift() : rounds[0]) ?? []
    done(
      null,
      addresses.map((address) => ({ address, family: net.isIP(address) })),
    )
  }

/** A site of its own whose robots.txt leads to the tripwire. */
async function robotsElsewhere(bench: Bench): Promise<string> {
  const site = await startBadServer({
    otherwise: (socket) => reply(socket, '302 Found', { Location: `${bench.tripwire.origin}/robots.txt` }, ''),
  })
  const definition = { robots: true, allowPrivate: [`127.0.0.1:${site.port}`] }
  return watched(bench, () => bench.visit(`${site.origin}/ok`, { definition }), site.port).finally(() => site.close())
}

async function throughProxy(url: string): Promise<string> {
  const proxy = await startProxy('http', honest)
  const fetcher = newFetcher()
  const code = await codeOf(get(fetcher, url, {}, { allowPrivate: [], proxy: proxy.server }))
  await fetcher.close()
  await proxy.close()
  return `${code}, proxy asked ${proxy.connections()} times`
}

function refused(
  number: number,
  name: string,
  url: (bench: Bench) => string,
  expected = 'private_address → dead',
  more: (bench: Bench) => CrawlOptions = () => ({}),
): Fixture {
  return {
    number,
    name,
    expected: `${expected}, 0 connects`,
    run: (bench) => watched(bench, () => bench.visit(url(bench), more(bench))),
  }
}

const literal = (number: number, host: string): Fixture =>
  refused(number, host, ({ tripwire }) => `http://${host}:${tripwire.port}/ok`)

const resolved = (number: number, name: string, addresses: string[]): Fixture =>
  refused(
    number,
    name,
    ({ tripwire }) => `http://name.test:${tripwire.port}/`,
    undefined,
    () => ({
      lookup: answering(addresses),
    }),
  )

const redirect = (target: string) => `/to?${encodeURIComponent(target)}`

export const ADDRESSES: readonly Fixture[] = [
  ...['127.0.0.1', '127.1', '2130706433', '017700000001', '0x7f.1', '0', '1', '①②⑦.⓪.⓪.①', '127.0.0.1.'].map((host) =>
    literal(22, host),
  ),
  ...['10.0.0.1', '172.16.0.1', '192.168.1.1', 'localhost'].map((host) => literal(23, host)),
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[::7f00:1]'].map((host) =>
    literal(24, host),
  ),
  ...['[fe80::1]', '[fc00::1]', '[fd12::1]'].map((host) => literal(24, host)),
  ...['0.1.2.3', '100.64.0.1', '169.254.169.254', '192.0.0.1', '198.18.0.1', '224.0.0.1', '240.0.0.1'].map((host) =>
    literal(25, host),
  ),
  resolved(26, 'a name for loopback', ['127.0.0.1']),
  resolved(26, 'a name for the metadata service', ['169.254.169.254']),
  resolved(26, 'a public and a private answer', ['93.184.215.14', '127.0.0.1']),
  resolved(26, 'a private and a public answer', ['127.0.0.1', '93.184.215.14']),
  {
    number: 27,
    name: 'rebinding: public, then private',
    expected: 'connect_error → retry then private_address → dead, 0 connects',
    run: (bench) =>
      watched(bench, async () => {
        const { port } = bench.tripwire
        const lookup = answering(['93.184.215.14'], ['127.0.0.1'])
        const { links } = await bench.crawl('', {
          lookup,
          definition: { start: [`http://name.test:${port}/1`, `http://name.test:${port}/2`], order: 'fifo' },
        })
        const codes = links.map(({ failures }) => failures.at(-1)?.code)
        return codes.join() === 'connect_error,private_address'
          ? 'connect_error → retry then private_address → dead'
          : codes.join()
      }),
  },
  refused(
    28,
    'a redirect to a private address',
    ({ site, tripwire }) => site.origin + redirect(`${tripwire.origin}/ok`),
    'private_address → dead',
  ),
  refused(
    28,
    'a chain of redirects to the metadata service',
    ({ site }) => site.origin + redirect(`${site.origin}${redirect('http://169.254.169.254/')}`),
    'private_address → dead',
  ),
  {
    number: 29,
    name: 'robots.txt redirects to a private address',
    expected: 'page, 0 connects',
    run: robotsElsewhere,
  },
  {
    number: 29,
    name: 'a sitemap redirects to a private address',
    expected: 'seeds_unreadable → stop, 0 connects',
    run: (bench) =>
      watched(bench, () =>
        bench.visit('', {
          definition: { seeds: [sitemap(bench.site.origin + redirect(`${bench.tripwire.origin}/sitemap.xml`))] },
        }),
      ),
  },
  {
    number: 29,
    name: 'a sitemap on a private address',
    expected: 'seeds_unreadable → stop, 0 connects',
    run: (bench) =>
      watched(bench, () =>
        bench.visit('', { definition: { seeds: [sitemap(`${bench.tripwire.origin}/sitemap.xml`)] } }),
      ),
  },
  ...['127.0.0.1', '[::1]', '169.254.169.254', 'localhost'].map(
    (host): Fixture => ({
      number: 30,
      name: `${host} through a proxy`,
      expected: 'private_address, proxy asked 0 times',
      run: () => throughProxy(`http://${host}/`),
    }),
  ),
  refused(31, 'good.com%2f@127.0.0.1', ({ tripwire }) => `http://good.com%2f@127.0.0.1:${tripwire.port}/`),
  refused(
    31,
    'good.com\\@127.0.0.1',
    () => 'http://good.com\\@127.0.0.1/',
    // The host is good.com, which answers nothing here.
    'connect_error → retry',
    () => ({ lookup: answering(['93.184.215.14']) }),
  ),
  ...[22, 25, 6379, 5432].map((port) =>
    refused(
      33,
      `port ${port}`,
      () => `http://name.test:${port}/`,
      'blocked_port → dead',
      () => ({
        lookup: answering(['93.184.215.14']),
      }),
    ),
  ),
]
