import type { Clock } from '../clock.js'

/**
 * Shares one query among many callers: only one is in flight at a time, however long it takes (one query waits for a queue that is down, not one
 * per second), and none starts before the last answer is `freshMs` old. Failures are not cached.
 */
export function memo<Answer>(
  clock: Clock,
  freshMs: number,
  ask: (key: string) => Promise<Answer>,
): ((key: string) => Promise<Answer>) & { forget(key: string): void } {
  const known = new Map<string, { readonly answer: Promise<Answer>; readonly at: number; settled: boolean }>()
  const answerFor = (key: string): Promise<Answer> => {
    const last = known.get(key)
    if (last !== undefined && (!last.settled || clock.mono() - last.at < freshMs)) return last.answer
    const asked = { answer: ask(key), at: clock.mono(), settled: false }
    known.delete(key)
    known.set(key, asked)
    asked.answer.then(
      () => {
        asked.settled = true
      },
      () => {
        if (known.get(key) === asked) known.delete(key)
      },
    )
    const [oldest] = known.keys()
    if (known.size > KEYS_KEPT && oldest !== undefined) known.delete(oldest)
    return asked.answer
  }
  return Object.assign(answerFor, { forget: (key: string) => void known.delete(key) })
}

const KEYS_KEPT = 200
