import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { type CliOptions, startCli } from './cli.js'

/** One request as the site saw it, by its own clock. */
interface SiteRequest {
  readonly at: number
  readonly path: string
}

export interface Site {
  readonly origin: string
  /** Its pace key. */
  readonly host: string
  readonly seen: SiteRequest[]
  close(): Promise<void>
}

/** A site on loopback without robots.txt, that keeps a log of its own. */
export async function startSite(
  answer: (path: string, response: ServerResponse, request: IncomingMessage) => void,
): Promise<Site> {
  const seen: SiteRequest[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    seen.push({ at: performance.now(), path })
    if (path === '/robots.txt') response.writeHead(404).end()
    else answer(path, response, request)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    seen,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** `shoal dashboard` on a free port. `url` carries the token behind its #. */
export async function startDashboard(
  args: readonly string[],
  options: CliOptions,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const { child, result } = startCli(['dashboard', ...args, '--port', '0', '--json'], options)
  if (child.stdout === null) throw new Error('it has no output')
  const line = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([first]) => String(first)),
    result.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ])
  return { url: String((JSON.parse(line) as { url: unknown }).url), child }
}

/** It knows no name and no way but to loopback: what needs the internet fails. */
const ALONE = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1']

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.SHOAL_BROWSER ?? '/usr/bin/chromium', args: ALONE })
}

/** What a page did that it must not do. */
export interface Misdeeds {
  /** Requests to any other origin than its own. */
  readonly strangers: string[]
  readonly dialogs: string[]
  /** Scripts that the policy refused, errors nobody caught. */
  readonly errors: string[]
}

/** A page that can reach nothing but loopback, and tells on itself. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly misdeeds: Misdeeds }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
  await context.addInitScript({
    content: `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error('Content Security Policy: ' + violatedDirective + ' ' + blockedURI))`,
  })
  const page = await context.newPage()
  const { origin } = new URL(url)
  const misdeeds: Misdeeds = { strangers: [], dialogs: [], errors: [] }
  page.on('request', (request) => {
    const target = request.url()
    if (!target.startsWith(`${origin}/`) && !target.startsWith('data:')) misdeeds.strangers.push(target)
  })
  page.on('dialog', (dialog) => {
    misdeeds.dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => misdeeds.errors.push(error.message))
  page.on('console', (message) => {
    if (/Content Security Policy|Content-Security-Policy/i.test(message.text())) misdeeds.errors.push(message.text())
  })
  await page.goto(url)
  return { page, misdeeds }
}

/** To another view, as a link of the page would. */
export async function goTo(page: Page, place: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${place}`)}`)
}

/** The question before an order. A dialog behind it may have a button of the same name. */
export function question(page: Page): Locator {
  const leave = page.getByRole('button', { name: 'Go back' })
  return page.getByRole('dialog').filter({ has: leave })
}

export async function confirmed(page: Page, action: string): Promise<void> {
  await question(page).getByRole('button', { name: action, exact: true }).click()
}
