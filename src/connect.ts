import type { ConnectOptions, Shoal } from './library/shoal.js'

/**
 * Shoal inside a program: add URLs, wait for their records or stream them, run workers. Options that are left out come from the environment
 * (SHOAL_QUEUE …), then from the defaults in docs/configuration.md.
 */
export async function connect(options: ConnectOptions = {}): Promise<Shoal> {
  // Loaded here and not at the top: a spider file imports this package too, and needs neither a database nor an HTTP client.
  const { openShoal } = await import('./library/open-shoal.js')
  return openShoal(options)
}
