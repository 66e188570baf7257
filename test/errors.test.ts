import { describe, expect, it } from 'vitest'
import { describeError, ERRORS, type ErrorCode, isAway, ShoalError } from '../src/errors.js'

const CODES = Object.keys(ERRORS) as ErrorCode[]
const where = (wanted: (row: ReturnType<typeof describeError>) => boolean) =>
  CODES.filter((code) => wanted(describeError(code))).sort()

describe('the table of errors', () => {
  it('says in full sentences what each error means and what to do', () => {
    for (const code of CODES) {
      const { meaning, hint } = describeError(code)
      for (const text of [meaning, hint]) expect(text, code).toMatch(/^[A-Z`r].*[.?…]$/s)
    }
  })

  it('repeats only calls of a backend that may come back', () => {
    const waiting = CODES.filter((code) => isAway(new ShoalError(code, '')))
    expect(waiting.sort()).toEqual([
      ...['db_busy', 'pages_down', 'pages_unreachable', 'queue_down', 'queue_full', 'queue_unreachable'],
      ...['store_down', 'store_full', 'store_unreachable'],
    ])
    expect(where(({ waits }) => waits === 'outage')).toEqual(['db_busy', 'pages_down', 'queue_down', 'store_down'])
    expect(where(({ waits, next }) => waits !== undefined && next !== 'backend')).toEqual([])
    expect(isAway(new Error('queue_down'))).toBe(false)
  })

  it('knows where a request failed', () => {
    expect(where(({ failedAt }) => failedAt === 'connection')).toEqual([
      ...['connect_error', 'protocol_error', 'timeout', 'tls_error', 'truncated'],
    ])
    expect(where(({ failedAt }) => failedAt === 'response')).toEqual([
      ...['bad_redirect', 'decode_error', 'headers_too_large', 'too_large'],
    ])
    expect(where(({ failedAt }) => failedAt === 'proxy')).toEqual(['proxy_banned', 'proxy_error'])
    expect(where(({ failedAt }) => failedAt === 'guard')).toEqual([
      ...['bad_scheme', 'bad_url', 'blocked_port', 'private_address', 'secret_refused'],
    ])
  })

  it('knows which failures to open a connection mean that Redis is down once a crawl runs', () => {
    expect(where(({ dial }) => dial === true)).toEqual([
      ...['no_sockets', 'queue_address', 'queue_auth', 'queue_tls', 'queue_unreachable'],
    ])
  })
})
