import { expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { neverMatchedLines } from '../../../src/cli/views/never-matched-view.js'

const row = { part: 'rule', of: 'list', name: '', selector: 'a\u001b[2J', seen: 1_000, example: 'u' } as const

it('names the first few rules and fields that found nothing, without what a terminal would obey', () => {
  const style = styleFor({}, {})
  expect(neverMatchedLines([], style)).toEqual([])
  expect(neverMatchedLines([row], style)).toEqual([
    '             never route list: `a [2J` matched on 0 of 1,000 pages',
  ])
  expect(neverMatchedLines(Array(7).fill(row), style).at(-1)).toBe('             and 2 more')
})
