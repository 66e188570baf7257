import type { CDPSession } from 'playwright-core'
import type { Clock } from '../../clock.js'

/** A page that does not paint in this time has no screenshot. */
const PATIENCE_MS = 2_000
/** Stored with a dead letter: enough to see what went wrong. */
const QUALITY = 50
const MOST_BYTES = 1024 * 1024

/** What the page looks like: a JPEG of the window, or null. */
export async function takeScreenshot(session: CDPSession, clock: Clock): Promise<Uint8Array | null> {
  let cancel = () => {}
  const late = new Promise<null>((resolve) => {
    cancel = clock.after(PATIENCE_MS, () => resolve(null))
  })
  try {
    const shot = session
      .send('Page.captureScreenshot', { format: 'jpeg', quality: QUALITY, optimizeForSpeed: true })
      .then(({ data }) => Buffer.from(data, 'base64'))
    const bytes = await Promise.race([shot, late])
    return bytes === null || bytes.length > MOST_BYTES ? null : bytes
  } catch {
    return null
  } finally {
    cancel()
  }
}
