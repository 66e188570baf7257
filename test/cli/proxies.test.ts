import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { tempDir } from '../support/cli.js'
import { startProxies, type TestProxy } from '../support/proxy-server.js'
import { shoal } from './cli.js'

const dir = tempDir('proxies')
const refused = '127.0.50.3'
const site = createServer((request, answer) => {
  if (request.socket.remoteAddress === refused) answer.writeHead(403).end()
  else answer.end('<title>page</title>')
})
let proxies: TestProxy[] = []
let target: string[] = []

beforeAll(async () => {
  site.listen(0, '0.0.0.0')
  await once(site, 'listening')
  const { port } = site.address() as AddressInfo
  target = ['--url', `http://127.0.0.1:${port}/`, '--allow-private', `127.0.0.1:${port}`]
  proxies = await startProxies(4, 50, { login: { username: 'anna', password: 'secret' } })
  const [fine, dead, banned, wrong] = proxies
  if (fine === undefined || dead === undefined || banned === undefined || wrong === undefined)
    throw new Error('too few')
  dead.mode = 'dead'
  wrong.mode = 'refuses-login'
  const named = (name: string, { url }: TestProxy) => ({ name, url, country: 'de' })
  writeFileSync(
    join(dir.path, 'pools.json'),
    JSON.stringify({
      dc: {
        entries: [named('fine', fine), named('dead', dead), named('banned', banned), named('wrong', wrong)],
        cost: { perRequest: 0.002 },
      },
      bad: { entries: [named('dead', dead)] },
    }),
  )
})

afterAll(async () => {
  for (const proxy of proxies) await proxy.stop()
  site.closeAllConnections()
  site.close()
  dir.remove()
})

const call = (...args: string[]) => shoal(['proxies', ...args, '--proxies', 'pools.json'], { cwd: dir.path })
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

it('tests every proxy of a pool, and the fleet knows the outcome', async () => {
  const { code, out, err } = await call('test', 'dc', '--count', '3', '--json', ...target)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const tested = lines(out)
  expect(
    tested.map(({ of, proxy, good, banned, broken, outcome }) => [of, proxy, good, banned, broken, outcome]),
  ).toEqual([
    ['proxy', 'fine', 3, 0, 0, 'good'],
    // Two strikes, then it rests: the third request is not sent.
    ['proxy', 'dead', 0, 0, 2, 'resting'],
    ['proxy', 'banned', 0, 2, 0, 'resting'],
    ['proxy', 'wrong', 0, 0, 2, 'resting'],
    ['pool', undefined, 3, 2, 4, undefined],
  ])
  expect(tested.at(-1)).toMatchObject({ requests: 9, success: 3 / 9, costPer1000: expect.closeTo(6) })

  const table = await call('list', '--pool', 'dc')
  expect(table.out).toMatch(/^dc {2}dc · 4 proxies · 3 resting$/m)
  expect(table.out).toMatch(/^127\.0\.0\.1 +9 +█+░+ +33 % +2 +4 /m)
  expect(table.out).toMatch(/^dead +de +2 .* (9 min \d\d s|10 min 00 s)$/m)
  expect(table.out).toMatch(/^banned +de +2 .* on 127\.0\.0\.1$/m)
  const listed = lines((await call('list', '--site', '127.0.0.1', '--json')).out)
  expect(
    listed.filter(({ of }) => of === 'pool').map(({ pool, requests, resting }) => [pool, requests, resting]),
  ).toEqual([
    ['dc', 9, 3],
    ['bad', 0, 0],
  ])
})

it('ends with 6 when nothing works', async () => {
  const { code, out } = await call('test', 'bad', ...target)
  expect(code).toBe(6)
  expect(out).toContain('broken proxy_error')
})

it.each([
  [['test', 'dx'], 3, "there is no pool 'dx'"],
  [['test', 'dc', '--url', 'http://127.0.0.1:8080/'], 2, 'private_address'],
])('%j is told in one line', async (args, expected, text) => {
  const { code, err } = await call(...args)
  expect(code).toBe(expected)
  expect(err.split('\n').filter((line) => line.startsWith('error'))).toEqual([expect.stringContaining(text)])
})
