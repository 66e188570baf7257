import type { ConnectOptions, Shoal } from './library/shoal.js'

/**
 * Shoal inside a program: enqueue URLs, wait for their records or stream them, run workers. What is not given comes from the environment
 * (SHOAL_QUEUE …), then from the defaults of docs/configuration.md.
 */
export async function connect(options: ConnectOptions = {}): Promise<Shoal> {
  // Loaded here: a spider file imports this package too, and wants neither a database nor an HTTP client.
  const { openShoal } = await import('./library/open-shoal.js')
  return openShoal(options)
}
