import { z } from 'zod'
import { ERRORS, type ErrorCode } from '../errors.js'

/** Validation of all input from outside. A malformed name is rejected here and reaches no driver. */

const PAGE_LIMIT = 500

/** Crawl ids and spider names; the id of a file crawl contains the name of its worker. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/
/** `shop.example`, `[::1]:8080`, `@group`, each through one proxy too: no space, slash, quote, brace, star or control character. */
const HOST = /^@?[\p{L}\p{N}._:[\]-]{1,253}(?:\|[A-Za-z0-9._:@[\]-]{1,253})?$/u

export const crawlId = z.string().regex(NAME, 'not the id of a crawl')
export const spiderName = z.string().regex(NAME, 'not the name of a spider')
export const kindName = z.string().regex(/^[\p{L}\p{N}._ -]{1,200}$/u, 'not the name of a kind')
export const workerId = z.string().regex(NAME, 'not the name of a worker')
export const poolName = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/, 'not the name of a pool')
/** Proxies without a name are called by their address. */
export const proxyName = z.string().regex(/^[A-Za-z0-9._:@[\]#~+-]{1,253}$/, 'not the name of a proxy')
export const hostKey = z.string().regex(HOST, 'not a host')
export const fingerprint = z.string().regex(/^[0-9a-f]{16}$/, 'not a fingerprint: 16 hex digits')
export const errorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]], 'unknown error code')

const limit = z
  .string()
  .regex(/^[0-9]{1,3}$/, `expected a whole number from 1 to ${PAGE_LIMIT}`)
  .transform(Number)
  .pipe(z.number().min(1).max(PAGE_LIMIT))
  .default(100)
const after = z
  .string()
  .max(4096)
  .regex(/^[A-Za-z0-9_-]+$/, 'not a cursor')
  .optional()

/** On every list. */
export const paging = { limit, after }
