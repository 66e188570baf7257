import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readAccessLog } from '../../src/demo/access-log.js'
import { type RunningShop, startShop } from '../../src/demo/server.js'
import { createShop } from '../../src/demo/shop.js'

const OPTIONS = { seed: 3, pages: 30, bytes: 2_000, faults: 1, port: 0 }

let dir: string
let accessLog: string
let running: RunningShop[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-shop-'))
  accessLog = join(dir, 'access.log')
  running = []
})

afterEach(async () => {
  await Promise.all(running.map((shop) => shop.close()))
  rmSync(dir, { recursive: true, force: true })
})

async function start(port = 0): Promise<RunningShop> {
  const shop = await startShop({ ...OPTIONS, port, accessLog })
  running.push(shop)
  return shop
}

async function stop(shop: RunningShop): Promise<void> {
  running = running.filter((other) => other !== shop)
  await shop.close()
}

describe('the shop server', () => {
  it('writes one whole line per request, with its start and its end', async () => {
    const shop = await start()
    const answer = await fetch(`http://127.0.0.1:${shop.port}/`, { headers: { 'user-agent': 'tester' } })
    const body = await answer.text()
    await fetch(`http://127.0.0.1:${shop.port}/no/such/page?x=1`)
    await stop(shop)
    const [first, second, ...more] = readAccessLog(accessLog)
    expect(more).toEqual([])
    expect(first).toMatchObject({
      path: '/',
      status: 200,
      method: 'GET',
      n: 1,
      run: 1,
      conn: 1,
      ua: 'tester',
      host: `127.0.0.1:${shop.port}`,
    })
    expect(first?.bytes).toBe(Buffer.byteLength(body))
    expect(first?.end).toBeGreaterThanOrEqual(first?.t ?? Number.NaN)
    expect(second).toMatchObject({ path: '/no/such/page?x=1', status: 404 })
  })

  it('remembers over restarts which pages have failed already', async () => {
    const flaky = createShop(OPTIONS)
      .siteMap()
      .find((page) => page.failsFirst > 0)
    const ask = async () => {
      const shop = await start()
      const { status } = await fetch(`http://127.0.0.1:${shop.port}${flaky?.path}`)
      await stop(shop)
      return status
    }
    for (let nth = 1; nth <= (flaky?.failsFirst ?? 0); nth++) expect(await ask()).not.toBe(200)
    expect(await ask()).toBe(200)
    expect(readAccessLog(accessLog).map((entry) => entry.run)).toEqual([1, 2, 3].slice(0, 1 + (flaky?.failsFirst ?? 0)))
  })

  it('has the line of a request in the log while the answer is under way, and marks a client that went away', async () => {
    const slow = createShop(OPTIONS)
      .siteMap()
      .find((page) => page.slowMs > 0)
    const shop = await start()
    const client = request({ port: shop.port, host: '127.0.0.1', path: slow?.path }).on('error', () => {})
    client.end()
    while (readAccessLog(accessLog).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(readAccessLog(accessLog)).toMatchObject([{ path: slow?.path, end: null, status: 0 }])
    client.destroy()
    while (readAccessLog(accessLog)[0]?.end === null) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(readAccessLog(accessLog)).toMatchObject([{ path: slow?.path, status: 499 }])
  })

  it('goes on after a line that was cut off', async () => {
    writeFileSync(accessLog, '{"t":1,"end":2,"status":200,"bytes":1,"path":"/","n":4,"run":2}\n{"t":17000')
    const shop = await start()
    await fetch(`http://127.0.0.1:${shop.port}/`)
    await stop(shop)
    expect(readAccessLog(accessLog)).toMatchObject([{ n: 4 }, { path: '/', n: 5, run: 3 }])
    expect(readFileSync(accessLog, 'utf8').endsWith('}\n')).toBe(true)
  })

  it('does not touch the log when its port is taken', async () => {
    const shop = await start()
    await fetch(`http://127.0.0.1:${shop.port}/`)
    await expect(start(shop.port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
    expect(readAccessLog(accessLog)).toHaveLength(1)
  })
})
