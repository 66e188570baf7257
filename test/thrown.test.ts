import { describe, expect, it } from 'vitest'
import { asShoalError } from '../src/errors.js'
import { namedText, stackOf, textOf } from '../src/thrown.js'
import { catchUncaught, isCaught, isOfSpider, placeInSpider } from '../src/uncaught.js'
import { shown } from '../src/units.js'
import { THROWN } from './spider/misbehaving.js'

describe('whatever was thrown', () => {
  it.each(THROWN)('%s has a short text and ends nothing', (_name, thrown) => {
    for (const text of [textOf, namedText, shown]) {
      expect(text(thrown())).toEqual(expect.any(String))
      expect(text(thrown()).length).toBeLessThan(1_100)
    }
    expect(asShoalError(thrown()).code).toBe('internal')
    expect(stackOf(thrown()).length).toBeLessThanOrEqual(20_000)
    expect(isOfSpider(thrown())).toEqual(expect.any(Boolean))
  })
})

describe('an exception that nobody caught', () => {
  const thrownAt = (place: string) => Object.assign(new Error('no'), { stack: `Error: no\n    at run (${place}:3:7)` })

  it('is the spider’s if its code threw it, or if it is no error at all', () => {
    expect(placeInSpider(thrownAt('/home/me/spider.ts'))).toBe('/home/me/spider.ts')
    expect(isOfSpider(thrownAt('/home/me/spider.ts'))).toBe(true)
    expect(isOfSpider(null)).toBe(true)
    expect(isOfSpider(thrownAt('/home/me/node_modules/pg/lib/client.js'))).toBe(false)
    expect(isOfSpider(thrownAt(new URL('../src/worker/visit.ts', import.meta.url).pathname))).toBe(false)
    // A socket of anybody's.
    expect(
      isOfSpider(Object.assign(new Error('reset'), { stack: 'Error: reset\n    at TCP.onread (node:net:1:2)' })),
    ).toBe(false)
  })

  it('is caught by the last who wants it, until that one leaves', () => {
    const by: string[] = []
    const forgetFirst = catchUncaught(() => by.push('first') > 0)
    const forgetLast = catchUncaught((thrown) => thrown === null && by.push('last') > 0)
    expect([isCaught(null), isCaught(7)]).toEqual([true, true])
    forgetLast()
    expect(isCaught(null)).toBe(true)
    forgetFirst()
    expect(isCaught(null)).toBe(false)
    expect(by).toEqual(['last', 'first', 'first'])
  })
})
