import { afterAll, beforeAll, expect, it } from 'vitest'
import { openBench } from './bench.js'
import { runFixture } from './fixture.js'
import { CORPUS } from './table.js'

let bench: Awaited<ReturnType<typeof openBench>>
beforeAll(async () => {
  bench = await openBench()
})
afterAll(() => bench.close())

it.each(CORPUS.map((fixture) => [fixture.number, fixture.name, fixture.expected, fixture] as const))(
  '%i: %s → %s',
  async (_number, _name, expected, fixture) => {
    expect((await runFixture(fixture, bench)).got).toBe(expected)
  },
)

it('has a case for each of the misbehaviours that concern fetching', () => {
  const numbers = new Set(CORPUS.map(({ number }) => number))
  const wanted = [...Array.from({ length: 46 }, (_, i) => i + 1), 57, 58, 59, 60]
  expect(wanted.filter((number) => !numbers.has(number))).toEqual([])
})
