import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { lastJson, runCli, tempDir } from '../support/cli.js'
import { startProxies } from '../support/proxy-server.js'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

interface Guest {
  readonly address: string
  readonly agent: string
  pages: number
}

/** A site whose pages are for those who have logged in, each from the address and with the user agent of the login. */
async function startClub() {
  const guests = new Map<string, Guest>()
  const strange: string[] = []
  const answerPage = (request: IncomingMessage, answer: ServerResponse) => {
    const sid = /\bsid=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? ''
    const guest = guests.get(sid)
    if (guest === undefined) return answer.writeHead(401).end('log in first')
    if (guest.address !== request.socket.remoteAddress || guest.agent !== request.headers['user-agent'])
      strange.push(`${sid} ${request.url}`)
    guest.pages++
    if (request.url?.startsWith('/old/'))
      return answer.writeHead(302, { location: request.url.replace('old', 'page') }).end()
    return answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>members only</title>')
  }
  const server = createServer((request, answer) => {
    if (request.url !== '/login') return answerPage(request, answer)
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      if (body !== 'user=anna&password=right') return answer.writeHead(403).end()
      const sid = `s${guests.size + 1}`
      const { remoteAddress: address = '' } = request.socket
      guests.set(sid, { address, agent: request.headers['user-agent'] ?? '', pages: 0 })
      return answer.writeHead(302, { location: '/welcome', 'set-cookie': `sid=${sid}; HttpOnly` }).end()
    })
    return undefined
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, guests, strange }
}

function spiderFile(port: number, more: string, password = 'right'): string {
  const start = JSON.stringify(
    Array.from({ length: 24 }, (_, nth) => `http://127.0.0.1:${port}/${nth % 3 === 0 ? 'old' : 'page'}/${nth}`),
  )
  return `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'club', start: ${start}, robots: false, allowPrivate: ['127.0.0.1:*'], pace: { delay: '5ms', concurrency: 2 },
  retries: { max: 0 }, ${more}
  session: {
    requests: 8,
    userAgents: ['Browser/1', 'Browser/2', 'Browser/3'],
    async login({ fetch }) {
      const { status, text } = await fetch('http://127.0.0.1:${port}/login', {
        method: 'POST', body: 'user=anna&password=${password}', headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      if (status !== 200 || !text.includes('members only')) throw new Error('no welcome: ' + status)
    },
  },
  routes: { page: { match: '**' } },
})
`
}

function folder() {
  const dir = tempDir('sessions')
  cleanups.push(() => dir.remove())
  return dir.path
}

it('a session is one proxy with its cookies and its user agent, logs in once, and makes room for another', async () => {
  const club = await startClub()
  const proxies = await startProxies(3, 40)
  cleanups.push(...proxies.map((proxy) => proxy.stop))
  const cwd = folder()
  writeFileSync(join(cwd, 'proxies.txt'), proxies.map(({ url }) => url).join('\n'))
  writeFileSync(join(cwd, 'club.ts'), spiderFile(club.port, "proxy: 'default',"))
  const { code, stdout, stderr } = await runCli(['run', 'club.ts', '--proxies', 'proxies.txt', '--json'], { cwd })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(lastJson(stdout)).toMatchObject({ pages: 24, dead: 0 })
  expect(club.strange).toEqual([])
  const guests = [...club.guests.values()]
  expect(guests.length).toBeGreaterThanOrEqual(3)
  // Eight requests, and what was under way when it ended; the page of the login itself.
  expect(Math.max(...guests.map(({ pages }) => pages))).toBeLessThanOrEqual(12)
  expect(new Set(guests.map(({ address }) => address)).size).toBeGreaterThan(1)
  expect(guests.every(({ agent }) => agent.startsWith('Browser/'))).toBe(true)
})

it('without proxies there is one visitor at a time', async () => {
  const club = await startClub()
  const cwd = folder()
  writeFileSync(join(cwd, 'club.ts'), spiderFile(club.port, ''))
  const { code, stdout } = await runCli(['run', 'club.ts', '--json'], { cwd })
  expect(code).toBe(0)
  expect(lastJson(stdout)).toMatchObject({ pages: 24, dead: 0 })
  expect(club.strange).toEqual([])
  expect([...club.guests.values()].every(({ address }) => address.endsWith('127.0.0.1'))).toBe(true)
})

it('a login that fails is told, and costs the page an attempt', async () => {
  const club = await startClub()
  const cwd = folder()
  writeFileSync(join(cwd, 'club.ts'), spiderFile(club.port, '', 'wrong'))
  const { code, stderr } = await runCli(['try', 'club.ts', `http://127.0.0.1:${club.port}/page/1`], { cwd })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/login_failed: club\.ts:\d+:\d+: the login failed: no welcome: 403/)
})
