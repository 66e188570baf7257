import { expect, it } from 'vitest'
import { placeIn } from '../src/stack-place.js'

it.each([
  ['    at read (/spiders/books.ts:3:14)', '/spiders/books.ts', 14],
  ['    at async file:///spiders/books.ts:3:14', '/spiders/books.ts', 14],
  ['    at Object.handler (file:///spiders/books.ts:3:14)', '/spiders/books.ts', 14],
  ['    at file:///my%20spiders/books.mjs:3:14', '/my spiders/books.mjs', 14],
  ['    at file:///100%/books.mjs:3:14', '/100%/books.mjs', 14],
  ['    at /spiders/a (copy)/books.ts:3:14', '/spiders/a (copy)/books.ts', 14],
  ['/spiders/books.ts:3', '/spiders/books.ts', null],
  ['    at read (C:\\spiders\\books.ts:3:14)', 'C:\\spiders\\books.ts', 14],
])('finds the file of %j', (line, file, column) => {
  expect(placeIn(line)).toEqual({ file, line: 3, column })
})

it.each([
  'Error: no such element',
  '    at <anonymous>',
  'the price is 3:14',
  'https://x.example/a (1)',
  '    at https://x.example/a.js:3:14',
  '    at async open (node:internal/fs/promises:639:25)',
  '    at node:internal/deps/undici/undici:13510:13',
  '    at eval (eval at read (/spiders/books.ts:3:14), <anonymous>:1:7)',
])('finds none in %j', (line) => {
  expect(placeIn(line)).toBe(null)
})

it('takes a message of any length', () => {
  const began = performance.now()
  for (const token of ['/', '(', 'e:\\', '(e:\\', ':1', ' ']) {
    placeIn(`${token.repeat(200_000)}(/:0`)
    placeIn(`${token.repeat(200_000)}:0:0`)
  }
  expect(performance.now() - began).toBeLessThan(2_000)
})
