import { expect, it } from 'vitest'
import { LONGER } from '../support/longer.js'
import { PLACES, repeated, TOKENS } from './hostile-texts.js'
import { PAGE_READERS, TEXT_READERS } from './readers.js'

/** CPU time that anything may take for 100 KB that a site sent. A page of 10 KB takes less than a millisecond. */
const BUDGET_MS = 250
const SIZE = 100_000
/** What the loop below takes on the machine that the budget is meant for. A slower one gets more time. */
const REFERENCE_MS = 25

function cpuMs(work: () => void): number {
  const before = process.cpuUsage()
  try {
    work()
  } catch {
    // An error is an answer, too, if it comes in time.
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function slowness(): number {
  const loop = () => {
    let sum = 0
    for (let i = 0; i < 20_000_000; i++) sum = (sum + i) | 0
    return sum
  }
  loop()
  return Math.max(1, cpuMs(loop) / REFERENCE_MS)
}

const budget = BUDGET_MS * slowness()

/** The least of three: garbage collection and the compiler of Node take their time once. */
function overBudget(what: string, work: () => void): string[] {
  let least = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 3; turn++) {
    least = Math.min(least, cpuMs(work))
    if (least <= budget) return []
  }
  return [`${what}: ${Math.round(least)} ms`]
}

// Every token meets every reader; which token is in which place changes from one to the next, so that each place sees a seventh of them.
const placesFor = (nth: number) => (LONGER > 1 ? PLACES : PLACES.filter((_, place) => place === nth % PLACES.length))

it.each(Object.entries(PAGE_READERS))('in time, whatever the page: %s', (_name, read) => {
  const slow = TOKENS.flatMap((token, nth) =>
    placesFor(nth).flatMap((place, at) => {
      const body = Buffer.from(place(repeated(token, SIZE)))
      return overBudget(`${JSON.stringify(token)} in place ${LONGER > 1 ? at : nth % PLACES.length}`, () => read(body))
    }),
  )
  expect(slow).toEqual([])
})

it.each(Object.entries(TEXT_READERS))('in time, whatever the text: %s', (_name, read) => {
  const slow = TOKENS.flatMap((token) => {
    const text = repeated(token, SIZE)
    return overBudget(JSON.stringify(token), () => read(text))
  })
  expect(slow).toEqual([])
})
