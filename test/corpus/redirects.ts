import { startBadServer } from '../support/bad-server.js'
import { GOOD, KEY } from '../support/test-only-certificates.js'
import type { Bench } from './bench.js'
import type { Fixture } from './fixture.js'
import { page } from './page.js'
import { trusting } from './transport.js'

/** Redirects and credentials. */

const to = (target: string) => `/to?${encodeURIComponent(target)}`
const MANY = 'too_many_redirects → dead'
const BAD = 'bad_redirect → dead'

const SECRETS = {
  Authorization: 'Basic canary',
  Cookie: 'session=canary',
  'Proxy-Authorization': 'Basic canary',
  'X-Api-Key': 'canary',
}

/** The headers of a spider after a redirect: what the first server was told, and what the second. */
async function told({ site, visit }: Bench, options: { tls?: boolean; same?: boolean }): Promise<string> {
  const other = await startBadServer(options.tls ? { tls: { key: KEY, cert: GOOD } } : {})
  const target = options.same ? `${site.origin}/ok` : `${other.origin}/ok`
  const before = site.heads().length
  const definition = { headers: SECRETS, userAgent: 'corpus-agent/1', allowPrivate: ['127.0.0.1:*'] }
  const outcome = await trusting(() => visit(site.origin + to(target), { definition })).finally(() => other.close())
  const [first = '', ...more] = [...site.heads().slice(before), ...other.heads()]
  const secrets = (head: string) => head.split('canary').length - 1
  const agents = [first, ...more].filter((head) => head.includes('user-agent: corpus-agent/1')).length
  return `${outcome}, secrets told ${secrets(first)} then ${secrets(more.join())}, agent ${agents}`
}

export const REDIRECTS: readonly Fixture[] = [
  page(18, '/self', MANY),
  page(18, '/loop-a', MANY),
  page(18, '/chain?0', MANY),
  ...[
    'file:///etc/passwd',
    'ftp://127.0.0.1/',
    'javascript:alert(1)',
    'data:text/html,x',
    'gopher://x/',
    'http://[',
  ].map((target) => ({ ...page(19, to(target), BAD), name: `to ${target}` })),
  {
    number: 20,
    name: 'to another port',
    // Never the proxy's login, not even to the first: that is for a proxy alone.
    expected: 'page, secrets told 3 then 0, agent 2',
    run: (bench) => told(bench, {}),
  },
  {
    number: 20,
    name: 'to another scheme and port',
    expected: 'page, secrets told 3 then 0, agent 2',
    run: (bench) => told(bench, { tls: true }),
  },
  {
    number: 20,
    name: 'to another host',
    expected: 'page, secrets told 3 then 0',
    async run({ site, visit }) {
      const before = site.heads().length
      const definition = { headers: SECRETS, allowPrivate: ['127.0.0.1:*', 'other.test:*'] }
      const outcome = await visit(site.origin + to(`http://other.test:${site.port}/ok`), {
        definition,
        lookup: (_, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
      })
      const [first, second] = site
        .heads()
        .slice(before)
        .map((head) => head.split('canary').length - 1)
      return `${outcome}, secrets told ${first} then ${second}`
    },
  },
  {
    number: 20,
    name: 'on the same origin',
    expected: 'page, secrets told 3 then 3, agent 2',
    run: (bench) => told(bench, { same: true }),
  },
  {
    number: 21,
    name: 'out of scope',
    expected: BAD,
    run: ({ site, visit }) =>
      visit(site.origin + to('http://elsewhere.test/'), { definition: { scope: { hosts: ['127.0.0.1'] } } }),
  },
  {
    number: 21,
    name: 'to a path that robots.txt forbids',
    expected: 'robots_disallowed → skipped',
    run: ({ site, visit }) => visit(site.origin + to('/forbidden'), { definition: { robots: true } }),
  },
  {
    number: 32,
    name: 'user name and password in a link',
    expected: 'page; 0 stored, 0 sent',
    async run({ site, crawl }) {
      const before = site.heads().length
      const secret = `http://user:canary@127.0.0.1:${site.port}/ok`
      const { outcome, links } = await crawl(`${site.origin}/link?${encodeURIComponent(secret)}`, {
        definition: { routes: { page: { match: '**', follow: [{ links: 'a' }] } } },
      })
      // The start URL itself tells of it, and is not looked at.
      const found = links.filter(({ depth }) => depth === 1)
      const heads = site.heads().slice(before + 1)
      if (found.length !== 1 || heads.length !== 1) return `${found.length} links, ${heads.length} requests`
      const count = (texts: readonly string[]) => texts.filter((text) => /canary|authorization|user:/.test(text)).length
      return `${outcome}; ${count([JSON.stringify(found)])} stored, ${count(heads)} sent`
    },
  },
]
