import { getDomain } from 'tldts'
import { withoutTrailingDot } from './canonicalise.js'
import type { HostKey } from './link.js'

export function hostKey(url: URL): HostKey {
  return withoutTrailingDot(url.host)
}

/** The host of a canonical URL. */
export function hostIn(url: string): HostKey {
  const start = url.indexOf('//') + 2
  return url.slice(start, url.indexOf('/', start))
}

const PORT = /:[0-9]+$/
const SITES_REMEMBERED = 10_000
const sites = new Map<HostKey, string>()

/**
 * The registrable domain, without a port: `shop.example.co.uk:8080` → `example.co.uk`. Private suffixes count (`a.github.io` and `b.github.io` are
 * different sites). Addresses, `localhost` and bare suffixes are their own site.
 */
export function siteOf(host: HostKey): string {
  const known = sites.get(host)
  if (known !== undefined) return known
  const [address = ''] = host.split('|', 1)
  const name = address.replace(PORT, '')
  const site = getDomain(name, { allowPrivateDomains: true, extractHostname: false }) ?? name
  if (sites.size >= SITES_REMEMBERED) sites.clear()
  sites.set(host, site)
  return site
}
