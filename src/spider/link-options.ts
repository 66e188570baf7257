import { parseDuration } from '../units.js'
import type { LinkOptions } from '../url/admit.js'
import type { Json } from '../url/link.js'
import type { FollowOptions } from './definition.js'

/** What a user says of a link, as the door takes it. */
export function linkOptions<Data>(options: FollowOptions<Data>): LinkOptions {
  const { route, priority, data, dedupeKey, delay, method, headers, body } = options as FollowOptions<
    Readonly<Record<string, unknown>>
  >
  const hasRequest = method !== undefined || headers !== undefined || body !== undefined
  return {
    ...(route !== undefined && { route }),
    ...(priority !== undefined && { priority }),
    ...(data !== undefined && { data: data as Json }),
    ...(hasRequest && {
      request: {
        ...(method !== undefined && { method }),
        ...(headers !== undefined && { headers }),
        ...(body !== undefined && { body }),
      },
    }),
    ...(dedupeKey !== undefined && { dedupeKey }),
    ...(delay !== undefined && { delayMs: parseDuration(delay) }),
  }
}
