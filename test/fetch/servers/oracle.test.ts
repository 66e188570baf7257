import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LONGER } from '../../support/longer.js'
import { BEHAVIOURS, outcomeOf } from './behaviours.js'
import { behave, type RawServer, startRawServer } from './raw-server.js'

/** Chromium's half of the table, asked of the Chromium that is installed: what the other half is compared with must be true. */

const GO_MS = 1_500

let server: RawServer
let browser: Browser
beforeAll(async () => {
  server = await startRawServer(behave)
  browser = await chromium.launch({
    executablePath: process.env.SHOAL_BROWSER ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
})
afterAll(async () => {
  await browser.close()
  await server.close()
})

/** A body that breaks off never ends its navigation: its error is an event. */
async function shown(page: Page, url: string): Promise<string> {
  const failed = new Promise<string>((resolve) => {
    page.on('requestfailed', (request) => resolve(errorIn(request.failure()?.errorText) ?? ''))
  })
  const went = page.goto(url, { timeout: GO_MS }).then(
    () => '',
    (error: Error) =>
      error.message.includes('Download is starting') ? 'download' : (errorIn(error.message) ?? 'waits'),
  )
  const first = await Promise.race([went, failed])
  // A download is an aborted request, too.
  if (first === 'ERR_ABORTED') return (await went) === 'download' ? 'download' : first
  return first === '' ? page.evaluate<string>('document.body.innerText') : first
}

function errorIn(message: string | undefined): string | undefined {
  return /ERR_[A-Z_]+/.exec(message ?? '')?.[0]
}

// Minutes on a busy machine: as often as Chromium is updated is enough.
it.runIf(LONGER > 1)(
  'the table has what Chromium shows',
  async () => {
    const wrong: string[] = []
    for (const [index, behaviour] of BEHAVIOURS.entries()) {
      const page = await browser.newPage()
      const seen = await shown(page, `${server.origin}/${index}`)
      const { chromium: expected } = outcomeOf(behaviour)
      if (seen !== expected) wrong.push(`${behaviour.name}: ${expected} expected, ${seen} seen`)
      void page.close().catch(() => {})
    }
    expect(wrong).toEqual([])
  },
  300_000,
)
