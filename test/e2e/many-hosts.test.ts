import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastJson, runCli, tempDir } from '../support/cli.js'

const HOSTS = Array.from({ length: 14 }, (_, index) => `127.0.0.${index + 1}`)
const LINKS_PER_HOST = 5
const DELAY_MS = 100
const dir = tempDir('hosts')
let servers: Server[]
let origins: string[]
/** Per host: when requests began, and how many were under way at most. */
const began = new Map<string, number[]>()
const underWay = new Map<string, number>()
let most = 0

beforeAll(async () => {
  const answer: RequestListener = (request, response) => {
    const host = request.headers.host ?? ''
    began.set(host, [...(began.get(host) ?? []), performance.now()])
    underWay.set(host, (underWay.get(host) ?? 0) + 1)
    most = Math.max(most, underWay.get(host) ?? 0)
    setTimeout(() => {
      underWay.set(host, (underWay.get(host) ?? 0) - 1)
      if (request.url === '/robots.txt') response.end('User-agent: *\nDisallow: /x\n')
      else if (request.url?.startsWith('/r/')) response.writeHead(302, { location: `/p/${request.url.slice(3)}` }).end()
      else response.end('<h1>page</h1>')
    }, 120)
  }
  servers = HOSTS.map(() => createServer(answer))
  origins = await Promise.all(
    servers.map(async (server, index) => {
      await new Promise<void>((resolve) => server.listen(0, HOSTS[index], resolve))
      return `http://${HOSTS[index]}:${(server.address() as AddressInfo).port}`
    }),
  )
})

afterAll(async () => {
  for (const server of servers) server.closeAllConnections()
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  dir.remove()
})

describe('many hosts at once, each one request at a time', () => {
  it('never overlaps and keeps the delay, with robots.txt and redirects among the requests', async () => {
    const file = join(dir.path, 'hosts.mjs')
    const start = origins.flatMap((origin) =>
      Array.from({ length: LINKS_PER_HOST }, (_, index) => `${origin}/r/${index}`),
    )
    writeFileSync(
      file,
      `import { defineSpider } from 'shoal'
       export default defineSpider({
         name: 'hosts', start: ${JSON.stringify(start)}, allowPrivate: ${JSON.stringify(HOSTS.map((host) => `${host}:*`))},
         pace: { delay: '${DELAY_MS}ms', concurrency: 1 }, routes: { page: { match: '**', handler() {} } },
       })`,
    )
    // More than eight visits in hand: releases are gathered, and must not be overtaken by permits.
    const { code, stdout, stderr } = await runCli([
      'run',
      file,
      '--queue',
      `sqlite:${join(dir.path, 'a.db')}`,
      '--json',
    ])
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(lastJson(stdout)).toMatchObject({ pages: start.length, failed: 0 })
    expect(most).toBe(1)
    const gaps = [...began.values()].flatMap((times) => times.slice(1).map((time, index) => time - (times[index] ?? 0)))
    expect(gaps.length).toBe(HOSTS.length * (2 * LINKS_PER_HOST + 1) - HOSTS.length)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0.9 * DELAY_MS)
  }, 60_000)
})
