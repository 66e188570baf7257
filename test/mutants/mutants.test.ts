import { expect, it } from 'vitest'
import { MUTANTS } from './mutants.js'
import { runMutants } from './run-mutants.js'

it('notices every bug of one line', async () => {
  const results = await runMutants()
  expect(results).toHaveLength(MUTANTS.length)
  expect(results.filter(({ verdict }) => verdict !== 'killed')).toEqual([])
}, 900_000)
