import { seededRandom } from '../../src/clock.js'
import { startTcpProxy } from '../support/tcp-proxy.js'

/** The slow link of one host: a proxy on it to the queue and one to the store, because `tc netem` is not in every kernel. */
export interface SlowLinkOrder {
  readonly queue: { readonly address: string; readonly port: number }
  readonly store: { readonly address: string; readonly port: number }
  /** Each way. */
  readonly delayMs: number
  readonly jitterMs: number
  readonly seed: number
}

export interface SlowLinkPorts {
  readonly queue: number
  readonly store: number
}

const JITTER_EVERY_MS = 100

const order = JSON.parse(process.argv[2] ?? '{}') as SlowLinkOrder
const random = seededRandom(order.seed)
const [queue, store] = await Promise.all(
  [order.queue, order.store].map(({ address, port }) => startTcpProxy(port, address)),
)
const jitter = () => {
  for (const proxy of [queue, store])
    for (const direction of ['requests', 'replies'] as const)
      proxy?.delay(direction, order.delayMs + random() * order.jitterMs)
}
jitter()
setInterval(jitter, JITTER_EVERY_MS)
process.on('disconnect', () => process.exit())
const ports: SlowLinkPorts = { queue: queue?.port ?? 0, store: store?.port ?? 0 }
process.send?.(ports)
