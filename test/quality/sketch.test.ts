import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { distinctValues, SKETCH_SIZE, type Sketch, Sketcher, unite } from '../../src/quality/sketch.js'
import { hashOf } from '../../src/quality/value.js'

function sketchOf(values: Iterable<unknown>): Sketch {
  const sketcher = new Sketcher()
  for (const value of values) sketcher.add(hashOf(value))
  return sketcher.take()
}

describe('a sketch of distinct values', () => {
  it('is exact below its size', () => {
    for (const distinct of [0, 1, 2, 255]) {
      const values = Array.from({ length: 5000 }, (_, i) => (distinct === 0 ? [] : `value ${i % distinct}`))
      expect(distinctValues(sketchOf(distinct === 0 ? [] : values))).toBe(distinct)
    }
  })

  it('is off by 6.3 % above, as a rule', () => {
    const makers: ((i: number, set: number) => unknown)[] = [
      (i, set) => `SKU-${set}-${i}`,
      (i, set) => set * 1_000_000 + i / 100,
      (i, set) => ({ id: i, set }),
      (i, set) => [`https://shop.example/${set}/${i}.jpg`],
    ]
    let squares = 0
    let sets = 0
    for (const make of makers) {
      for (let set = 0; set < 25; set++) {
        const distinct = 300 * (set + 1)
        const values = Array.from({ length: distinct }, (_, i) => make(i, set))
        const error = distinctValues(sketchOf([...values, ...values])) / distinct - 1
        expect(Math.abs(error)).toBeLessThan(0.25)
        squares += error ** 2
        sets += 1
      }
    }
    expect(Math.sqrt(squares / sets)).toBeLessThan(0.08)
  })

  it('is the same for the whole as for its parts, in any order and as often as one likes', () => {
    const part = fc.array(fc.integer({ min: 0, max: 900 }), { maxLength: 700 })
    fc.assert(
      fc.property(part, part, part, (a, b, c) => {
        const whole = sketchOf([...a, ...b, ...c])
        const [x, y, z] = [a, b, c].map(sketchOf) as [Sketch, Sketch, Sketch]
        expect(unite(unite(x, y), z)).toEqual(whole)
        expect(unite(z, unite(y, unite(x, x)))).toEqual(whole)
        expect(whole.length).toBeLessThanOrEqual(SKETCH_SIZE)
      }),
    )
  })

  it('begins anew when it is taken', () => {
    const sketcher = new Sketcher()
    for (let i = 0; i < 2000; i++) sketcher.add(hashOf(i))
    expect(sketcher.take()).toHaveLength(SKETCH_SIZE)
    sketcher.add(hashOf('x'))
    expect(sketcher.take()).toEqual([hashOf('x')])
    expect(sketcher.take()).toEqual([])
  })
})

describe('the hash of a value', () => {
  it('tells values, types and order apart, and knows the same again', () => {
    const values = ['1', 1, -1, true, false, ['1'], [1], [1, 2], [2, 1], { a: 1 }, { b: 1 }, { a: [1] }, 1.5, 'ä', 'a']
    expect(new Set(values.map(hashOf)).size).toBe(values.length)
    expect(hashOf({ a: ['x', 2] })).toBe(hashOf({ a: ['x', 2] }))
    expect(hashOf(new Date(5))).toBe(hashOf(new Date(5)))
  })

  it('takes a long text by its ends and its length', () => {
    const text = (middle: string) => `${'a'.repeat(40)}${middle}${'z'.repeat(40)}`
    expect(hashOf(text('1'))).toBe(hashOf(text('2')))
    expect(hashOf(text('1'))).not.toBe(hashOf(text('12')))
    expect(hashOf(`b${text('1').slice(1)}`)).not.toBe(hashOf(text('1')))
  })

  it('ends on values without end', () => {
    const cycle: { self?: unknown } = {}
    cycle.self = cycle
    expect(Number.isInteger(hashOf(cycle))).toBe(true)
    expect(Number.isInteger(hashOf(Array.from({ length: 1_000_000 }, (_, i) => i)))).toBe(true)
  })
})
