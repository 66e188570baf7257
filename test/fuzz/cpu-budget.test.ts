import { expect, it } from 'vitest'
import { cpuMs } from '../support/cpu-time.js'
import { LONGER } from '../support/longer.js'
import { PLACES, repeated, TOKENS } from './hostile-texts.js'
import { PAGE_READERS, TEXT_READERS } from './readers.js'

/** What is quadratic takes seconds of 30 KB; ten times as much, where there is time for it. */
const SIZE = LONGER > 1 ? 300_000 : 30_000
/** CPU time that anything may take of what a site sent: 250 ms for 100 KB. Usually it is less than one. */
const BUDGET_MS = (250 * SIZE) / 100_000
/** What the loop below takes on the machine that the budget is meant for. A slower one gets more time. */
const REFERENCE_MS = 25

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

/** The least of three: garbage collection, the compiler of Node, and tables that are loaded with their first use take their time once. */
function overBudget(what: string, work: () => void): string[] {
  let least = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 3; turn++) {
    least = Math.min(least, cpuMs(work))
    if (least <= budget) return []
  }
  return [`${what}: ${Math.round(least)} ms`]
}

/** Each of these stopped a worker once, in a meta refresh, a date, a tag or a list of numbers. */
const NOTORIOUS: ReadonlySet<string> = new Set([' ', 'Z(', 'a=b ', '1,'])

/** Every token meets every reader, and those above in every place; of the others each place sees a seventh. */
function pagesOf(token: string, nth: number): Buffer[] {
  const everywhere = LONGER > 1 || NOTORIOUS.has(token)
  const places = everywhere ? PLACES : PLACES.filter((_, place) => place === nth % PLACES.length)
  return places.map((place) => Buffer.from(place(repeated(token, SIZE))))
}

it.each(Object.entries(PAGE_READERS))('in time, whatever the page: %s', (_name, read) => {
  const slow = TOKENS.flatMap((token, nth) =>
    pagesOf(token, nth).flatMap((body) =>
      overBudget(`${JSON.stringify(token)} in ${body.toString('utf8', 0, 40)}`, () => read(body)),
    ),
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
