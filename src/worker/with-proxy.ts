import { Busy } from '../politeness/busy.js'
import { borrowProxy } from './borrow-proxy.js'
import type { Layer } from './layer.js'
import { busyIn } from './permits.js'
import { step } from './trace-visit.js'

/** A proxy of the pool that the route asks for; nothing at all for spiders without proxies. */
export function withProxy(next: Layer): Layer {
  return async (sending, held) => {
    const { current, parts } = sending
    const { proxies, spider } = parts
    const need = spider.routes.get(current.lease.link.route)?.proxy
    if (proxies === null || !need) return next(sending, held)
    parts.meter.doing(current, 'proxy')
    const lent = await step(
      current,
      () => borrowProxy(sending, proxies, need, held.stay),
      () => ({ name: 'proxy', about: { 'shoal.host': sending.keys[0] }, learnt: busyIn }),
    )
    return lent instanceof Busy ? lent : next(sending, { ...held, lent })
  }
}
