import type { Clock } from '../clock.js'

/**
 * Answers that many callers share: one question at a time, however long it takes (a queue that is away is waited for by one question, not by one
 * a second), and none before the last one is `freshMs` old. A failure is not kept.
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
