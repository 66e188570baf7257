import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ShoalError } from '../errors.js'

export interface ListenAt {
  readonly host: string
  readonly port: number
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** Returns the port. `failure`: the error to throw if it cannot be used. */
export function listen(
  server: Server,
  { host, port }: ListenAt,
  failure: (why: string, cause: unknown) => ShoalError,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${error.code ?? error.message})`
      reject(failure(`port ${port} on ${host} ${why}`, error))
    }
    server.once('error', refused)
    server.listen(port, host.replace(/^\[|\]$/g, ''), () => {
      server.removeListener('error', refused)
      // A connection that cannot be accepted, because the process is out of file descriptors, must not end the crawl.
      server.on('error', () => {})
      resolve((server.address() as AddressInfo).port)
    })
  })
}
