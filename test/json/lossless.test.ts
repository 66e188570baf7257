import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseLossless } from '../../src/json/lossless.js'

const TABLE: readonly (readonly [text: string, value: unknown])[] = [
  ['9007199254740991', 9007199254740991],
  ['-9007199254740991', -9007199254740991],
  ['9007199254740992', '9007199254740992'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['12345678901234567890', '12345678901234567890'],
  ['18446744073709551615', '18446744073709551615'],
  ['100000000000000000000', '100000000000000000000'],
  ['1e20', 1e20],
  ['1E+2', 100],
  ['1e400', '1e400'],
  ['-1e400', '-1e400'],
  ['1e-400', '1e-400'],
  ['0e999', 0],
  ['0.000', 0],
  ['-0', -0],
  ['0.1', 0.1],
  ['19.99', 19.99],
  ['0.10000000000000001', 0.1],
  ['48.858370000000001', 48.858370000000001],
  ['1.7976931348623157e308', 1.7976931348623157e308],
  ['5e-324', 5e-324],
  ['0.123456789012345678901', '0.123456789012345678901'],
  ['1234567890.12345678901234', '1234567890.12345678901234'],
  ['1.000000000000000000000000', 1],
  ['"12345678901234567890"', '12345678901234567890'],
  ['{"a":1,"a":12345678901234567890}', { a: '12345678901234567890' }],
  ['[12345678901234567890,12345678901234567891]', ['12345678901234567890', '12345678901234567891']],
]

describe('parseLossless', () => {
  it.each(TABLE)('reads %s', (text, value) => {
    expect(parseLossless(text)).toStrictEqual(value)
  })

  it('keeps __proto__ as a key', () => {
    const value = parseLossless('{"__proto__":{"id":12345678901234567890}}')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(JSON.stringify(value)).toBe('{"__proto__":{"id":"12345678901234567890"}}')
  })

  it('refuses text that is not JSON, with the position', () => {
    expect(() => parseLossless('{"id":12345678901234567890,}')).toThrow(/position/)
  })

  it('refuses what is nested too deep for a recursive parser', () => {
    const deep = (levels: number) => `${'['.repeat(levels)}12345678901234567890${']'.repeat(levels)}`
    expect(parseLossless(deep(500))).toBeInstanceOf(Array)
    expect(() => parseLossless(deep(100_000))).toThrow('nested more than 500 levels')
  })

  it('is JSON.parse for every document whose numbers are numbers', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        // JSON.stringify writes 1e21 and 123456789012345680000 for numbers that are integers over 2^53.
        fc.pre(!/\d{16}/.test(text))
        expect(parseLossless(text)).toStrictEqual(JSON.parse(text))
      }),
    )
  })
})
