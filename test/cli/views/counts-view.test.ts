import { expect, it } from 'vitest'
import { styleFor } from '../../../src/cli/terminal/style.js'
import { countLines } from '../../../src/cli/views/counts-view.js'

const plain = styleFor({}, {})

it('says nothing when the spider counted nothing', () => {
  expect(countLines([], plain)).toEqual([])
})

it('lists the counts, the largest first, and says that there are more', () => {
  const counts = [
    { name: 'seen', count: 12_345 },
    { name: 'sold\x1b[2J out', count: 3 },
    { name: 'rare', count: 1 },
  ]
  expect(countLines(counts, plain, 2)).toEqual([
    '             counted by the spider:',
    '     12,345  seen',
    '          3  sold [2J out',
    '             and 1 more name: shoal status',
  ])
  expect(countLines(counts, plain)).toHaveLength(4)
})
