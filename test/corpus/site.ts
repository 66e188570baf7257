import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/** Pages and redirects of the corpus, beside the modes of the bad server; what follows the path says the rest. */
export function misbehave(socket: Socket, path: string): void {
  const [name = '', query = ''] = path.split('?', 2)
  const answer = ANSWERS[name]
  if (answer === undefined && name.endsWith('/x/y/')) reply(socket, '200 OK', {}, '<a href="x/y/">deeper</a>')
  else if (answer === undefined) reply(socket, '404 Not Found', {}, 'no such page')
  else answer(socket, decodeURIComponent(query))
}

type Answer = (socket: Socket, query: string) => void

export function reply(socket: Socket, status: string, headers: Record<string, string>, body: string | Buffer): void {
  const bytes = Buffer.from(body as string)
  const all = { 'Content-Type': 'text/html', 'Content-Length': String(bytes.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`, 'latin1'), bytes]))
}

const html =
  (body: string | Buffer, headers: Record<string, string> = {}): Answer =>
  (socket) =>
    reply(socket, '200 OK', headers, body)

const DEEP = 60_000
const lazy = (make: () => string | Buffer, headers: Record<string, string> = {}): Answer => {
  let body: string | Buffer | null = null
  return (socket) => {
    body ??= make()
    reply(socket, '200 OK', headers, body)
  }
}

const XML = { 'Content-Type': 'application/xml' }
const urlset = (inner: string, head = '') =>
  `<?xml version="1.0"?>${head}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${inner}</urlset>`
/** "Billion laughs". */
const ENTITIES = `<!DOCTYPE x [<!ENTITY a0 "/laugh">${Array.from(
  { length: 9 },
  (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`,
).join('')}]>`

const ANSWERS: Readonly<Record<string, Answer>> = {
  // Redirects
  '/to': (socket, target) => reply(socket, '302 Found', { Location: target }, ''),
  '/loop-a': (socket) => reply(socket, '302 Found', { Location: '/loop-b' }, ''),
  '/loop-b': (socket) => reply(socket, '302 Found', { Location: '/loop-a' }, ''),
  '/self': (socket) => reply(socket, '302 Found', { Location: '/self' }, ''),
  '/chain': (socket, hop) => reply(socket, '302 Found', { Location: `/chain?${Number(hop) + 1}` }, ''),
  '/robots.txt': (socket) =>
    reply(socket, '200 OK', { 'Content-Type': 'text/plain' }, 'User-agent: *\nDisallow: /forbidden'),
  '/forbidden': html('<h1>forbidden</h1>'),
  '/link': (socket, href) => reply(socket, '200 OK', {}, `<h1>link</h1><a href="${href}">link</a>`),

  // Answers with little in them
  '/error-page': html('<h1>Something went wrong</h1>'),

  // Charsets; the text is 中文 or café
  '/gbk': html(Buffer.from('3c68313ed6d0cec43c2f68313e', 'hex'), { 'Content-Type': 'text/html; charset=gbk' }),
  '/meta-lies': html('<meta charset="gbk"><h1>café</h1>', { 'Content-Type': 'text/html; charset=utf-8' }),
  '/header-lies': html('\ufeff<h1>café</h1>', { 'Content-Type': 'text/html; charset=iso-8859-1' }),
  '/utf-16': html(Buffer.from('\ufeff<h1>café</h1>', 'utf16le'), { 'Content-Type': 'text/html; charset=utf-8' }),
  '/utf-7': html('<h1>+AGEAYg-</h1>', { 'Content-Type': 'text/html; charset=utf-7' }),
  '/invalid-utf-8': html(Buffer.from('3c68313e61ff62fe3c2f68313e', 'hex'), {
    'Content-Type': 'text/html; charset=utf-8',
  }),

  // HTML
  '/nested': lazy(() => `<h1>deep</h1>${'<div>'.repeat(DEEP)}x`),
  '/nested-inline': lazy(() => `<h1>deep</h1>${'<b><i><a href=x>'.repeat(DEEP / 3)}x`),
  '/unclosed': lazy(() => `<h1>open${'<p><span title="'.repeat(50_000)}`),
  '/attribute': lazy(() => `<h1>wide</h1><div title="${'x'.repeat(9_900_000)}">y</div>`),
  '/attributes': lazy(() => `<h1>many</h1><div ${Array.from({ length: 100_000 }, (_, i) => `a${i}=1`).join(' ')}>`),
  '/foreign': html(
    '<h1>foreign</h1><svg><![CDATA[ <h1>no</h1> ]]><foreignObject><math><mi><table><svg></math></table></svg><script>x',
  ),
  '/json-ld': html(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"a":1,"a":2,"name":"thing"}',
    { 'Content-Type': 'application/ld+json' },
  ),
  '/json-number': html('{"name":"thing","size":1e400000}', { 'Content-Type': 'application/json' }),
  '/many-links': lazy(() => Array.from({ length: 100_000 }, (_, i) => `<a href="/page?${i}">x</a>`).join('')),
  '/long-link': lazy(() => `<a href="/${'x'.repeat(1 << 20)}">long</a>`),
  '/odd-link': html(Buffer.from('<a href="/\u202e\ud800">odd</a>', 'utf8')),
  '/grows': html('<a href="x/y/">deeper</a>'),

  // Sitemaps
  '/entities.xml': html(urlset('<url><loc>/start&a9;</loc></url>', ENTITIES), XML),
  '/bomb.xml.gz': lazy(() => gzipSync(urlset(' '.repeat(200 << 20))), { 'Content-Type': 'application/gzip' }),
  '/itself.xml': (socket) =>
    reply(
      socket,
      '200 OK',
      XML,
      `<sitemapindex>${`<sitemap><loc>http://127.0.0.1:${socket.localPort}/itself.xml</loc></sitemap>`.repeat(3)}</sitemapindex>`,
    ),
}
