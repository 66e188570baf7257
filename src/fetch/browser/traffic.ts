import type { ShoalError } from '../../errors.js'
import type { FetchRequest } from '../fetcher.js'

/** What one rendered page may send and has sent, over all its sub-resources. */
export interface Traffic extends Pick<FetchRequest, 'limits' | 'allowPrivate' | 'proxy'> {
  readonly bytes: number
  count(bytes: number): void
  failed(url: URL, error: ShoalError): void
  /** Why there was no way to the host of this URL; null: there was one. */
  failureOf(url: URL): ShoalError | null
  /** Ends every connection. */
  cut: () => void
}

/** `maxBytes` and no more: then it is cut off and `onOver` told. */
export function newTraffic(
  { limits, allowPrivate, proxy }: Pick<FetchRequest, 'limits' | 'allowPrivate' | 'proxy'>,
  maxBytes: number,
  onOver: () => void,
): Traffic {
  const failures = new Map<string, ShoalError>()
  let bytes = 0
  // A tunnel is asked for without its scheme, so the host and its port are all that a failure is known by.
  const placeOf = (url: URL) => `${url.hostname}:${url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : url.port}`
  const traffic: Traffic = {
    limits,
    allowPrivate,
    ...(proxy === undefined ? {} : { proxy }),
    get bytes() {
      return bytes
    },
    count(more) {
      bytes += more
      if (bytes <= maxBytes || bytes - more > maxBytes) return
      traffic.cut()
      onOver()
    },
    failed: (url, error) => void failures.set(placeOf(url), error),
    failureOf: (url) => failures.get(placeOf(url)) ?? null,
    cut: () => {},
  }
  return traffic
}
