import type { ShoalError } from '../errors.js'
import { parseDuration, shown } from '../units.js'
import type { LinkOptions } from '../url/admit.js'
import type { Json, RequestExtras } from '../url/link.js'
import type { FollowOptions } from './definition.js'

/**
 * The options of a link as the filter takes them. They are validated here, where the user's code passes them: later the link is stored together with
 * those of other pages, and a value that cannot be stored would fail all of them. `wrong` creates the error.
 */
export function linkOptions<Data>(options: FollowOptions<Data>, wrong: (message: string) => ShoalError): LinkOptions {
  const { route, priority, data, dedupeKey, delay, group, method, headers, body } = options as FollowOptions<
    Readonly<Record<string, unknown>>
  >
  const text = (name: string, value: unknown): void => {
    if (value !== undefined && typeof value !== 'string') throw wrong(`${name} must be a string, not ${kindOf(value)}`)
  }
  text('dedupeKey', dedupeKey)
  text('group', group)
  const hasRequest = method !== undefined || headers !== undefined || body !== undefined
  return {
    ...(route !== undefined && { route }),
    ...(priority !== undefined && { priority }),
    ...(data !== undefined && { data: jsonCopy(data, wrong) }),
    ...(hasRequest && { request: requestOf({ method, headers, body }) }),
    ...(dedupeKey !== undefined && { dedupeKey }),
    ...(delay !== undefined && { delayMs: parseDuration(delay) }),
    ...(group !== undefined && { group }),
  }

  function requestOf(given: { [Part in keyof RequestExtras]: RequestExtras[Part] | undefined }): RequestExtras {
    text('method', given.method)
    text('body', given.body)
    if (given.headers !== undefined) {
      if (typeof given.headers !== 'object' || given.headers === null || Array.isArray(given.headers))
        throw wrong(`headers must be an object of strings, not ${kindOf(given.headers)}`)
      for (const [name, value] of Object.entries(given.headers)) text(`headers.${name}`, value ?? null)
    }
    return {
      ...(given.method !== undefined && { method: given.method }),
      ...(given.headers !== undefined && { headers: { ...given.headers } }),
      ...(given.body !== undefined && { body: given.body }),
    }
  }
}

/** A copy also because the handler may change the object afterwards. */
function jsonCopy(data: unknown, wrong: (message: string) => ShoalError): Json {
  let json: string | undefined
  try {
    json = JSON.stringify(data, (key, value: unknown) => {
      if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
        throw new TypeError(`${key === '' ? 'it' : shown(key)} is ${kindOf(value)}`)
      return value
    })
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    throw wrong(`the data of a link must be JSON: ${reason}`)
  }
  if (json === undefined) throw wrong('the data of a link must be JSON')
  return JSON.parse(json) as Json
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  const type = Array.isArray(value) ? 'array' : typeof value
  return `${type === 'object' || type === 'array' ? 'an' : 'a'} ${type}`
}
