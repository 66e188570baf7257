import { expect, it } from 'vitest'
import { placeIn } from '../src/stack-place.js'

it.each([
  ['    at read (/spiders/books.ts:3:14)', '/spiders/books.ts', ':3:14'],
  ['    at async file:///spiders/books.ts:3:14', '/spiders/books.ts', ':3:14'],
  ['    at Object.handler (file:///spiders/books.ts:3:14)', '/spiders/books.ts', ':3:14'],
  ['    at /spiders/a (copy)/books.ts:3:14', '/spiders/a (copy)/books.ts', ':3:14'],
  ['/spiders/books.ts:3', '/spiders/books.ts', ':3'],
  ['    at read (C:\\spiders\\books.ts:3:14)', 'C:\\spiders\\books.ts', ':3:14'],
])('finds the file of %j', (line, file, position) => {
  expect(placeIn(line)).toEqual({ file, position })
})

it.each(['Error: no such element', '    at <anonymous>', 'the price is 3:14', 'https://x.example/a (1)'])(
  'finds none in %j',
  (line) => {
    expect(placeIn(line)).toBe(null)
  },
)

it('takes a message of any length', () => {
  const began = performance.now()
  for (const token of ['/', '(', 'e:\\', '(e:\\', ':1', ' ']) {
    placeIn(`${token.repeat(200_000)}(/:0`)
    placeIn(`${token.repeat(200_000)}:0:0`)
  }
  expect(performance.now() - began).toBeLessThan(2_000)
})
