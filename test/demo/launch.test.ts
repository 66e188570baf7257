import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readAccessLog } from '../../src/demo/access-log.js'
import type { DemoShop, DemoShopRequest } from '../../src/demo/launch.js'

// The built one: the shop is a process of its own, and Node runs JavaScript.
const LAUNCH = new URL('../../dist/demo/launch.js', import.meta.url).href
const { launchShop } = (await import(LAUNCH)) as typeof import('../../src/demo/launch.js')

const OPTIONS = { seed: 5, pages: 20, bytes: 1_000, faults: 1 }

let dir: string
let open: { close(): Promise<void> }[]
let children: ChildProcess[]

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-demo-'))
  open = []
  children = []
})

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(open.map((shop) => shop.close()))
  rmSync(dir, { recursive: true, force: true })
})

async function launch(changes: Partial<DemoShopRequest> = {}): Promise<DemoShop> {
  const shop = await launchShop({ dir, options: OPTIONS, ...changes })
  open.push(shop)
  return shop
}

const get = async (url: string) => (await fetch(url)).status

describe('launchShop', () => {
  it('comes back on the same port with the same log', async () => {
    const first = await launch()
    expect(first.resumed).toBe(false)
    expect(await get(`${first.origin}/`)).toBe(200)
    await first.close()
    const second = await launch()
    expect(second).toMatchObject({ resumed: true, port: first.port })
    expect(await get(`${second.origin}/`)).toBe(200)
    expect(readAccessLog(second.accessLog)).toMatchObject([
      { n: 1, run: 1 },
      { n: 2, run: 2 },
    ])
  })

  it('says in site.json what a checker needs', async () => {
    const shop = await launch()
    const site = JSON.parse(readFileSync(join(dir, 'site.json'), 'utf8'))
    expect(site).toMatchObject({ ...OPTIONS, port: shop.port, products: 20, records: 19 })
    expect(site.alwaysFail).toHaveLength(2)
  })

  it('sets the old log aside for another site, and when asked to begin anew', async () => {
    const first = await launch()
    await get(`${first.origin}/`)
    await first.close()
    const other = await launch({ options: { ...OPTIONS, pages: 25 } })
    expect(other).toMatchObject({ resumed: false, port: first.port })
    await other.close()
    const fresh = await launch({ options: { ...OPTIONS, pages: 25 }, fresh: true })
    expect(fresh.resumed).toBe(false)
    expect(readdirSync(dir).sort()).toEqual(['access.log', 'access.log.1', 'access.log.2', 'site.json'])
  })

  it('says so when the port of the site is taken', async () => {
    const { port, close } = await launch()
    await close()
    const squatter = createServer()
    await new Promise<void>((resolve) => squatter.listen(port, '127.0.0.1', resolve))
    try {
      await expect(launch()).rejects.toMatchObject({ code: 'demo_port' })
    } finally {
      await new Promise((resolve) => squatter.close(resolve))
    }
  })

  it('ends with its parent, also when that is killed, and the next one gets the port', async () => {
    const script = `const { launchShop } = await import(${JSON.stringify(LAUNCH)})
      const shop = await launchShop(${JSON.stringify({ dir, options: OPTIONS })})
      console.log(shop.port)`
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(parent)
    const port = await new Promise<number>((resolve) => parent.stdout.once('data', (data) => resolve(Number(data))))
    expect(await get(`http://127.0.0.1:${port}/`)).toBe(200)
    parent.kill('SIGKILL')
    expect(await launch()).toMatchObject({ resumed: true, port })
  })
})
