import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'

/** Shops with names of their own and tempers of their own, for pictures: one quick, one slow, one that asks for time, one that fails now and then. */
const SHOPS = {
  'books.example': { pages: 9_000, answersInMs: 60 },
  'toys.example': { pages: 2_400, answersInMs: 900 },
  'garden.example': { pages: 4_200, answersInMs: 120 },
  'music.example': { pages: 1_900, answersInMs: 80 },
  'kitchen.example': { pages: 1_200, answersInMs: 200 },
  'tea.example': { pages: 480, answersInMs: 40 },
  'paper.example': { pages: 350, answersInMs: 70 },
} as const
type ShopName = keyof typeof SHOPS

export interface LivelySites {
  /** The spider file's name, and the pools' that lead to the shops: their names exist behind the proxies only. */
  readonly spider: string
  readonly pools: string
  close(): Promise<void>
}

const TITLES = ['Thousand and one nights', 'A winter garden', 'Blue kettle', 'Wooden train', 'String quartet', 'Oolong']
const THROTTLES = 'garden.example'
const FAILS = 'paper.example'
const LOSES = 'music.example'
const ASKS_FOR_PEACE = 'tea.example'
const EXITS = ['berlin', 'lisbon', 'oslo', 'prague', 'riga', 'turin']
const BROKEN = 'turin'

/** Each proxy is a server that answers for all shops by itself, so that they need neither names nor ports of this machine. */
export async function startLivelySites(dir: string): Promise<LivelySites> {
  const proxies = await Promise.all(EXITS.map(startExit))
  const pools = join(dir, 'pools.json')
  const entries = proxies.map(({ port, name }) => ({ url: `http://127.0.0.1:${port}`, name }))
  writeFileSync(pools, JSON.stringify({ datacenter: { kind: 'datacenter', entries } }))
  const spider = join(dir, 'shops.ts')
  writeFileSync(spider, spiderText())
  return { spider, pools, close: async () => void (await Promise.all(proxies.map(({ close }) => close()))) }
}

async function startExit(name: string): Promise<{ name: string; port: number; close: () => Promise<void> }> {
  let asked = 0
  const sockets = new Set<Socket>()
  const server: Server = createServer((request, response) => {
    const { hostname, pathname } = new URL(request.url ?? '', `http://${request.headers.host}`)
    asked++
    if (name === BROKEN) request.socket.destroy()
    else answer(hostname, pathname, asked, response)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // A tunnel ends where it began: the same server reads what comes through it.
  server.on('connect', (_request, socket: Socket) => {
    if (name === BROKEN) return socket.destroy()
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    server.emit('connection', socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    name,
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function answer(hostname: string, path: string, asked: number, response: ServerResponse): void {
  const shop = SHOPS[hostname as ShopName]
  const number = Number(/\d+/.exec(path)?.[0] ?? 0)
  if (shop === undefined) response.writeHead(404).end()
  else if (path === '/robots.txt')
    response.end(`User-agent: *\n${hostname === ASKS_FOR_PEACE ? 'Crawl-delay: 1\n' : ''}`)
  else if (hostname === THROTTLES && asked % 60 === 59) response.writeHead(429, { 'retry-after': '45' }).end()
  else if (hostname === FAILS && number % 23 === 5) response.writeHead(500).end('broken')
  else if (hostname === LOSES && number % 37 === 5) response.writeHead(404).end('gone')
  else
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'text/html' }).end(html(number, shop.pages)),
      shop.answersInMs,
    )
}

function html(number: number, pages: number): string {
  const links = Array.from({ length: 30 }, (_, nth) => number * 30 + nth + 1).filter((nth) => nth < pages)
  const rating = number % 3 === 0 ? '' : `<i class="rating">${3 + (number % 5) / 2}</i>`
  return `<h1>${TITLES[number % TITLES.length]}, no. ${number}</h1><b class="price">${(5 + (number % 400) / 10).toFixed(2)}</b>
    ${rating}<p>${'x'.repeat(4_000)}</p>${links.map((nth) => `<a href="/item/${nth}">${nth}</a>`).join(' ')}`
}

function spiderText(): string {
  const start = Object.keys(SHOPS).map((shop) => `http://${shop}/item/0`)
  return `import { defineSpider } from 'shoal'
import { z } from 'zod'
export default defineSpider({
  name: 'shops',
  start: ${JSON.stringify(start)},
  scope: { hosts: ${JSON.stringify(Object.keys(SHOPS))}, maxDepth: 1000 },
  allowPrivate: ['127.0.0.1:*'],
  proxy: { pool: 'datacenter', choose: 'rotate' },
  pace: { delay: '400ms', concurrency: 2 },
  retries: { max: 1, backoff: ['1s'] },
  records: { product: z.object({ title: z.string(), price: z.number(), rating: z.number().optional() }) },
  routes: {
    item: {
      match: '/item/*',
      follow: [{ links: 'a' }],
      record: {
        kind: 'product',
        key: 'title',
        fields: { title: 'h1', price: { select: '.price', as: 'number' }, rating: { select: '.rating', as: 'number' } },
      },
    },
  },
})
`
}
