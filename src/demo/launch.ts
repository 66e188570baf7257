import { fork } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Random, systemRandom } from '../clock.js'
import { entryFile } from '../entry-file.js'
import { ShoalError } from '../errors.js'
import { makeDirs } from '../make-dirs.js'
import { startShop } from './server.js'
import { createShop, type ShopOptions } from './shop.js'
import type { ShopMessage, ShopOrder } from './shop-process.js'

/** The demo's folder: `site.json` (what the site is, and its port) and `access.log`. */
export interface DemoShop {
  readonly origin: string
  readonly port: number
  readonly accessLog: string
  /** The same site as before, on its old port: an unfinished crawl of it can resume. */
  readonly resumed: boolean
  readonly options: ShopOptions
  close(): Promise<void>
}

export interface DemoShopRequest {
  readonly dir: string
  readonly options: ShopOptions
  /** Start over: the current access log is set aside. */
  readonly fresh?: boolean
}

/** Below the range of ports for outgoing connections, because the port must be free again at the next run. */
const PORTS = { from: 20_000, to: 24_999 } as const
const PORT_CANDIDATES = 20

/**
 * Starts the shop as a child process, which ends with this one, however that ends. The port is stored in the folder, because the links of an unfinished
 * crawl contain it.
 */
export async function launchShop(
  { dir, options, fresh = false }: DemoShopRequest,
  random: Random = systemRandom,
): Promise<DemoShop> {
  const { siteFile, accessLog, saved, resumed } = openFolder(dir, options, fresh)
  const ports = saved === null ? candidates(random) : [saved.port]
  const order: ShopOrder = { ...options, ports, accessLog }
  const child = fork(entryFile(import.meta.url, './shop-process.js'), [JSON.stringify(order)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const message = await new Promise<ShopMessage>((resolve) => {
    child.once('message', (received) => resolve(received as ShopMessage))
    child.once('error', (error) => resolve({ kind: 'failed', message: error.message }))
    child.once('exit', (code) => resolve({ kind: 'failed', message: `it ended with exit code ${code}` }))
  })
  if (message.kind === 'taken') {
    throw new ShoalError('demo_port', `port ${ports.join(', ')} of the demo shop is in use by another program`, {
      hint: `Stop that program (another demo?), or delete ${dir} to start over.`,
    })
  }
  if (message.kind === 'failed') throw new ShoalError('internal', `the demo shop did not start: ${message.message}`)

  if (!resumed) writeSite(siteFile, message.port, options)
  return {
    origin: `http://127.0.0.1:${message.port}`,
    port: message.port,
    accessLog,
    resumed,
    options,
    async close() {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}

export interface ServedShop {
  readonly origin: string
  readonly accessLog: string
  close(): Promise<void>
}

/** Serves the shop in this process, for workers elsewhere. A shop with other options, or `fresh`, sets the current access log aside. */
export async function serveShop({
  dir,
  options,
  fresh = false,
  host,
  port,
}: DemoShopRequest & { readonly host: string; readonly port: number }): Promise<ServedShop> {
  const { siteFile, accessLog } = openFolder(dir, options, fresh)
  try {
    const shop = await startShop({ ...options, host, port, accessLog })
    writeSite(siteFile, shop.port, options)
    return { origin: `http://${host.includes(':') ? `[${host}]` : host}:${shop.port}`, accessLog, close: shop.close }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${code})`
    throw new ShoalError('demo_port', `port ${port} on ${host} ${why}`, {
      hint: 'Stop that program, or choose another port with --serve.',
      cause: error,
    })
  }
}

/** Creates the folder; `resumed`: it has the same site as before. */
function openFolder(dir: string, options: ShopOptions, fresh: boolean) {
  const siteFile = join(dir, 'site.json')
  const accessLog = join(dir, 'access.log')
  const saved = readSite(siteFile)
  const resumed = !fresh && saved !== null && sameOptions(saved, options)
  makeDir(dir)
  if (!resumed && existsSync(accessLog)) renameSync(accessLog, freeName(accessLog))
  return { siteFile, accessLog, saved, resumed }
}

interface Site extends ShopOptions {
  readonly port: number
}

function readSite(file: string): Site | null {
  if (!existsSync(file)) return null
  try {
    const site = JSON.parse(readFileSync(file, 'utf8')) as Site
    return Number.isInteger(site.port) ? site : null
  } catch {
    return null
  }
}

/** Also lists what a test of the demo needs to know without importing this code. */
function writeSite(file: string, port: number, options: ShopOptions): void {
  const site = createShop(options).siteMap()
  const count = (kind: string) => site.filter((page) => page.kind === kind).length
  const text = JSON.stringify(
    {
      port,
      ...options,
      urls: site.length,
      listings: count('listing'),
      products: count('product'),
      redirects: count('moved'),
      records: site.filter((page) => page.kind === 'product' && !page.alwaysFails).length,
      alwaysFail: site.filter((page) => page.alwaysFails).map((page) => page.path),
    },
    null,
    2,
  )
  writeFileSync(`${file}.new`, `${text}\n`)
  renameSync(`${file}.new`, file)
}

function sameOptions(a: ShopOptions, b: ShopOptions): boolean {
  return a.seed === b.seed && a.pages === b.pages && a.bytes === b.bytes && a.faults === b.faults
}

function candidates(random: Random): number[] {
  return Array.from({ length: PORT_CANDIDATES }, () => PORTS.from + Math.floor(random() * (PORTS.to - PORTS.from + 1)))
}

function makeDir(dir: string): void {
  try {
    makeDirs(dir)
    accessSync(dir, constants.W_OK)
  } catch (error) {
    throw new ShoalError('out_unwritable', `${dir}: the demo folder cannot be created or written`, { cause: error })
  }
}

function freeName(file: string): string {
  for (let number = 1; ; number++) {
    if (!existsSync(`${file}.${number}`)) return `${file}.${number}`
  }
}
