import { Busy } from '../politeness/busy.js'
import type { ProxyNeed } from '../spider/spider.js'
import { borrowProxy } from './borrow-proxy.js'
import type { Answer, Held, Layer, Sending } from './layer.js'
import { busyIn } from './permits.js'
import { step } from './trace-visit.js'
import type { SpiderProxies } from './visit-parts.js'
import { isFresh } from './waits.js'

/**
 * A proxy of the pool that the route asks for; nothing at all for spiders without proxies. One that is still lent from the attempt before is used as
 * long as its grant is fresh: to end an unused grant and ask again would cost the whole delay of that proxy.
 */
export function withProxy(next: Layer): Layer {
  // No promise of its own without proxies: most spiders have none.
  return (sending, held) => {
    const { proxies, spider } = sending.parts
    const need = spider.routes.get(sending.current.lease.link.route)?.proxy
    return proxies === null || !need ? next(sending, held) : throughProxy(next, sending, held, proxies, need)
  }
}

async function throughProxy(
  next: Layer,
  sending: Sending,
  held: Held,
  proxies: SpiderProxies,
  need: ProxyNeed,
): Promise<Answer> {
  const { current, parts } = sending
  if (held.lent !== null && isFresh(held.lent.granted, parts.clock)) return next(sending, held)
  held.lent?.end(null)
  parts.meter.doing(current, 'proxy')
  const lent = await step(
    current,
    () => borrowProxy(sending, proxies, need, held.stay),
    () => ({ name: 'proxy', about: { 'shoal.host': sending.keys[0] }, learnt: busyIn }),
  )
  if (lent instanceof Busy) return lent
  try {
    return await next(sending, { ...held, lent })
  } catch (error) {
    // Only the first end counts: whatever failed, the proxy is not held until its grant expires.
    lent.end(null)
    throw error
  }
}
