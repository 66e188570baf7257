import type { ShoalError } from '../errors.js'
import { jsonCopy } from '../json/copy.js'
import { textOf } from '../thrown.js'
import { parseDuration } from '../units.js'
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
    ...(data !== undefined && { data: copied(data, wrong) }),
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
function copied(data: unknown, wrong: (message: string) => ShoalError): Json {
  try {
    return jsonCopy(data)
  } catch (error) {
    throw wrong(`the data of a link must be JSON: ${textOf(error)}`)
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  const type = Array.isArray(value) ? 'array' : typeof value
  return `${type === 'object' || type === 'array' ? 'an' : 'a'} ${type}`
}
