import type { Answers } from './answers.js'
import type { Ways } from './shoal.js'

/** One value that is not the browser's. */
export interface Difference {
  readonly document: string
  readonly way: string
  readonly question: string
  readonly chromium: string
  readonly shoal: string
}

export interface Comparison {
  readonly compared: number
  readonly differences: readonly Difference[]
}

export function compare(name: string, chromium: Answers, ways: Ways): Comparison {
  const differences: Difference[] = []
  let compared = 0
  for (const [way, answers] of Object.entries(ways)) {
    for (const [question, shoal] of Object.entries(answers)) {
      const expected = chromium[question]
      if (expected === undefined) throw new Error(`Chromium was not asked for ${question}`)
      compared++
      if (expected !== shoal) differences.push({ document: name, way, question, chromium: expected, shoal })
    }
  }
  return { compared, differences }
}
