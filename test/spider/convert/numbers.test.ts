import { expect, it } from 'vitest'
import { readNumber } from '../../../src/spider/convert/numbers.js'
import { NUMBERS } from './real-numbers.js'

it('reads the numbers of real pages, and nothing that may be something else', () => {
  const read = NUMBERS.map((written) => ({
    ...written,
    number: readNumber(written.text, { decimal: written.decimal ?? null, language: () => written.language ?? null }),
  }))
  expect(read).toEqual(NUMBERS)
  expect(NUMBERS.length).toBeGreaterThanOrEqual(100)
})

it('asks for the language only where it decides', () => {
  let asked = 0
  const how = {
    decimal: null,
    language: () => {
      asked++
      return 'de'
    },
  }
  for (const text of ['£51.77', '1,234.50', '1.234.567', '0,999', '12', 'none']) readNumber(text, how)
  expect(asked).toBe(0)
  readNumber('1.234', how)
  expect(asked).toBe(1)
})
