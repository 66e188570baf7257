import type { Clock } from '../../clock.js'
import { ShoalError } from '../../errors.js'

/**
 * Shares one query among many callers: only one is in flight at a time, and none starts before the last answer is `freshMs` old. Failures are
 * not cached.
 */
export function sharedAnswer<Answer>(clock: Clock, freshMs: number, ask: () => Promise<Answer>): () => Promise<Answer> {
  let answered: { readonly answer: Answer; readonly at: number } | null = null
  let asking: Promise<Answer> | null = null
  return async () => {
    if (answered !== null && clock.mono() - answered.at < freshMs) return answered.answer
    asking ??= ask()
      .then((answer) => {
        answered = { answer, at: clock.mono() }
        return answer
      })
      .finally(() => {
        asking = null
      })
    return asking
  }
}

/** Fails with `queue_down` after `ms`; the query itself keeps running. */
export async function inTime<Answer>(clock: Clock, ms: number, work: Promise<Answer>): Promise<Answer> {
  const over = new AbortController()
  const late = clock.sleep(ms, over.signal).then(() => {
    throw new ShoalError('queue_down', `no answer within ${ms / 1000} s`)
  })
  late.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
    work.catch(() => {})
  }
}
