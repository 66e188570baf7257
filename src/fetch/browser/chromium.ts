import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { ShoalError } from '../../errors.js'

/** In the order in which PATH is searched for them. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

/** In addition to what Playwright turns off already (background traffic, updates, sync). */
const SWITCHES = [
  // The browser itself never resolves a name: not for prefetches, not for WebRTC.
  '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
  '--dns-prefetch-disable',
  '--no-pings',
  '--disable-quic',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  // A context contains the cookies of one visit only, and one process for a page with all its frames takes half of the memory. It also makes the
  // requests of every frame pass the same checks.
  '--disable-site-isolation-trials',
  '--disable-gpu',
  '--mute-audio',
]

export interface Chromium {
  readonly browser: Browser
  /** For a browser that no longer answers. */
  kill(): void
}

/** Shorter than a page waits for its tab: a browser that does not start is reported as that. */
const START_MS = 25_000

const VERSION_MS = 20_000

/**
 * Before a worker leases its first link: is everything installed that rendering needs? A start takes seconds that a spider may never need; reporting
 * its version takes a tenth of one and shows that it is intact.
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
      // '<-loopback>': traffic to this machine also goes through the proxy.
      proxy: { server: `http://${proxy}`, bypass: '<-loopback>' },
      // The command handles signals; the browser notices over its pipe when this process is gone.
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
          // Playwright starts it as the leader of a process group, with all its helpers.
          process.kill(-pid, 'SIGKILL')
        } catch {
          // Already gone.
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
  if (main === undefined) throw new Error('it does not report its process id')
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

/** A path, or a name to search in PATH. */
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
