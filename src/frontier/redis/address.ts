import { ShoalError } from '../../errors.js'

export interface Server {
  readonly host: string
  readonly port: number
  readonly username?: string
  readonly password?: string
  readonly database: number
}

export function parseAddress(address: string): Server {
  let url: URL
  try {
    url = new URL(address)
  } catch {
    throw new ShoalError('queue_address', 'The address of the Redis queue is not a URL.')
  }
  return {
    host: url.hostname,
    port: Number(url.port || 6379),
    database: Number(url.pathname.slice(1) || 0),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
  }
}
