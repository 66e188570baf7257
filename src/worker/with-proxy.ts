import { Busy } from '../politeness/busy.js'
import type { ProxyNeed } from '../spider/spider.js'
import { borrowProxy } from './borrow-proxy.js'
import type { Answer, Held, Layer, Sending } from './layer.js'
import { busyIn } from './permits.js'
import { step } from './trace-visit.js'
import type { SpiderProxies } from './visit-parts.js'

/** A proxy of the pool that the route asks for; nothing at all for spiders without proxies. */
export function withProxy(next: Layer): Layer {
  return (sending, held) => {
    const { current, parts } = sending
    const { proxies, spider } = parts
    const need = proxies === null ? null : spider.routes.get(current.lease.link.route)?.proxy
    return proxies && need ? throughProxy(sending, held, proxies, need, next) : next(sending, held)
  }
}

async function throughProxy(
  sending: Sending,
  held: Held,
  proxies: SpiderProxies,
  need: ProxyNeed,
  next: Layer,
): Promise<Answer> {
  const { current, parts } = sending
  parts.meter.doing(current, 'proxy')
  const lent = await step(
    current,
    () => borrowProxy(sending, proxies, need, held.stay),
    () => ({ name: 'proxy', about: { 'shoal.host': sending.keys[0] }, learnt: busyIn }),
  )
  return lent instanceof Busy ? lent : next(sending, { ...held, lent })
}
