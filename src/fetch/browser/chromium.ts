import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { ShoalError } from '../../errors.js'

/** In the order in which they are looked for in PATH. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** Sidecar what Playwright switches off already (background traffic, updates, sync). */
const SWITCHES = [
  // No name is ever resolved by the browser itself: not for prefetches, not for WebRTC.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--dns-prefetch-disable',
  '--no-pings',
  '--disable-quic',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // A context holds the cookies of one visit alone, and one process for a page with all its frames takes half of the memory. It also puts
  // the requests of every frame before the same judge.
  '--disable-site-isolation-trials',
  '--disable-gpu',
  '--mute-audio',
]

export interface Chromium {
  readonly browser: Browser
  /** For a browser that does not answer any more. */
  kill(): void
}

/** Shorter than a page waits for its tab: what does not start is told as that. */
const START_MS = 25_000

const VERSION_MS = 20_000

/**
 * Before a worker takes its first link: is everything there that rendering needs? A start takes seconds that a spider may never need; that it can
 * say its version, which takes a tenth of one, shows that it is whole.
 */
export async function checkBrowser(configured: string | null): Promise<void> {
  const path = executableOf(configured)
  await playwright()
  await new Promise<void>((resolve, reject) => {
    execFile(path, ['--version'], { timeout: VERSION_MS }, (error, _stdout, stderr) => {
      if (error === null) resolve()
      else reject(doesNotStart(path, stderr.trim() || error.message, error))
    })
  })
}

export async function startChromium(configured: string | null, proxy: string): Promise<Chromium> {
  const executablePath = executableOf(configured)
  const { chromium } = await playwright()
  const root = process.getuid?.() === 0
  let started: Browser | null = null
  try {
    const browser = await chromium.launch({
      timeout: START_MS,
      executablePath,
      headless: true,
      // Its sandbox does not work for root.
      chromiumSandbox: !root,
      args: SWITCHES,
      ignoreDefaultArgs: ['--disable-popup-blocking'],
      // '<-loopback>': also what is on this machine goes through the proxy.
      proxy: { server: `http://${proxy}`, bypass: '<-loopback>' },
      // Signals are the business of the command; over its pipe the browser notices by itself that we are gone.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    })
    started = browser
    const pid = await pidOf(browser)
    return {
      browser,
      kill: () => {
        try {
          // Playwright starts it as the leader of a group, with all its helpers.
          process.kill(-pid, 'SIGKILL')
        } catch {
          // Gone already.
        }
      },
    }
  } catch (error) {
    await started?.close().catch(() => {})
    throw doesNotStart(executablePath, error instanceof Error ? error.message : String(error), error)
  }
}

function doesNotStart(path: string, said: string, cause: unknown): ShoalError {
  const [first = ''] = said.split('\n')
  return new ShoalError('browser_unusable', `${path} does not start: ${first.slice(0, 300)}`, { cause })
}

async function pidOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const main = processInfo.find(({ type }) => type === 'browser')
  if (main === undefined) throw new Error('it does not say which process it is')
  return main.id
}

async function playwright(): Promise<typeof import('playwright-core')> {
  try {
    return await import('playwright-core')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ShoalError('browser_missing', 'rendering needs the package playwright-core, which is not installed', {
      hint: 'Install it: npm install playwright-core',
    })
  }
}

/** A path, or a name to look for in PATH. */
function executableOf(configured: string | null): string {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  for (const name of configured === null ? NAMES : [configured]) {
    const paths = name.includes('/') ? [name] : folders.map((folder) => join(folder, name))
    const found = paths.find(isExecutable)
    if (found !== undefined) return found
  }
  throw new ShoalError(
    'browser_missing',
    configured === null
      ? `rendering needs Chromium: none of ${NAMES.join(', ')} is in PATH`
      : `no browser at ${configured}`,
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
