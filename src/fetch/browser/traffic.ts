import type { ShoalError } from '../../errors.js'
import type { FetchRequest } from '../fetcher.js'

/** What one rendered page may send and has sent, for all its subresources. */
export interface Traffic extends Pick<FetchRequest, 'limits' | 'allowPrivate' | 'proxy'> {
  readonly bytes: number
  count(bytes: number): void
  /** Counts a request or a tunnel; false: that was one too many. */
  admit(): boolean
  failed(url: URL, error: ShoalError): void
  /** Why the host of this URL could not be reached; null: it could. */
  failureOf(url: URL): ShoalError | null
  /** Closes every connection. */
  cut: () => void
}

/** Over `most.bytes` it is cut off and `onOver` is called; over `most.requests` nothing more is sent. */
export function newTraffic(
  { limits, allowPrivate, proxy }: Pick<FetchRequest, 'limits' | 'allowPrivate' | 'proxy'>,
  most: { readonly bytes: number; readonly requests: number },
  onOver: () => void,
): Traffic {
  const failures = new Map<string, ShoalError>()
  let bytes = 0
  let requests = 0
  // A tunnel is requested without its scheme, so a failure is identified only by host and port.
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
      if (bytes <= most.bytes || bytes - more > most.bytes) return
      traffic.cut()
      onOver()
    },
    admit: () => ++requests <= most.requests,
    failed: (url, error) => void failures.set(placeOf(url), error),
    failureOf: (url) => failures.get(placeOf(url)) ?? null,
    cut: () => {},
  }
  return traffic
}
