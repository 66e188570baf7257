import { systemClock } from '../clock.js'
import { type ShopServerOptions, startShop } from './server.js'

/** What the parent receives, once. */
export type ShopMessage =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'taken' }
  | { readonly kind: 'failed'; readonly message: string }

export interface ShopOrder extends Omit<ShopServerOptions, 'port'> {
  /** The first free one is used. */
  readonly ports: readonly number[]
}

/** The server of a demo that was just killed is about to end; its port is worth a short wait. */
const PORT_WAIT_MS = 3_000
const PORT_RETRY_MS = 50

const order = JSON.parse(process.argv[2] ?? '{}') as ShopOrder

// Ctrl-C reaches the whole process group; the crawl still has pages in flight and ends this process when it is done.
process.on('SIGINT', () => {})
// However the parent dies, the channel closes.
process.on('disconnect', () => process.exit(0))

async function open(): Promise<ShopMessage> {
  const deadline = systemClock.mono() + PORT_WAIT_MS
  for (;;) {
    for (const port of order.ports) {
      try {
        const shop = await startShop({ ...order, port })
        return { kind: 'ready', port: shop.port }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE')
          return { kind: 'failed', message: String((error as Error).message) }
      }
    }
    if (systemClock.mono() > deadline) return { kind: 'taken' }
    await systemClock.sleep(PORT_RETRY_MS)
  }
}

const message = await open()
process.send?.(message, () => {
  if (message.kind !== 'ready') process.exit(1)
})
