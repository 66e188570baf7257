import type { EntryNote } from '../feed/entry/fed-url.js'

/** Whoever pushes entries with more different keys than this has turned data into keys: naming them all would fill the log. */
const REPORTED_KEYS = 100
const SHOWN_LENGTH = 60

/** Reports each key of the entries once, not once per entry; those that are new together, together. */
export function noteReporter(
  report: (text: string, keys: readonly string[]) => void,
): (notes: readonly EntryNote[]) => void {
  const known = new Set<string>()
  return (notes) => {
    const news = new Map<string, string[]>()
    for (const { key, text } of notes) {
      if (known.size >= REPORTED_KEYS) break
      const shown = key.slice(0, SHOWN_LENGTH)
      const name = `${shown}\n${text}`
      if (known.has(name)) continue
      known.add(name)
      news.set(text, [...(news.get(text) ?? []), shown])
      if (known.size === REPORTED_KEYS) news.set('further keys are not named', [])
    }
    for (const [text, keys] of news) report(text, keys)
  }
}
