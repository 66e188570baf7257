import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { nameDistance, nearest } from '../../../src/nearest.js'
import { valueAt } from '../../../src/run/try/value-at.js'
import { stampsOf, untilChanged } from '../../../src/run/try/watch-files.js'
import type { Json } from '../../../src/url/link.js'

describe('the value of an issue', () => {
  it.each<[data: Json, path: string, value: Json | undefined]>([
    [{ price: 1 }, 'price', 1],
    [{ offers: [{ price: 2 }] }, 'offers[0].price', 2],
    [{ a: { b: null } }, 'a.b', null],
    [{ 'a.b': 3 }, 'a.b', 3],
    [['x'], '[0]', 'x'],
    [{ a: 1 }, 'a.b', undefined],
    [{ a: 1 }, 'toString', undefined],
    [{ a: [] }, 'a[0]', undefined],
    [{ a: 1 }, '', { a: 1 }],
  ])('%j at %s', (data, path, value) => {
    expect(valueAt(data, path)).toEqual(value)
  })
})

describe('near words', () => {
  it.each<[wanted: string, found: string, distance: number | null]>([
    ['price-color', 'price_color', 0],
    ['askUs', 'askus', 0],
    ['tag', 'tags', 1],
    ['pirce', 'price', 2],
    ['price', 'price_color', 11],
    ['productTitle', 'product-title-1x2y3z4w', 11],
    ['price', 'stock', null],
    ['a', 'bc', null],
    ['a', 'p', null],
    ['h9', 'h1', 2],
    ['x'.repeat(100), 'x'.repeat(99), null],
  ])('%s and %s', (wanted, found, distance) => {
    expect(nameDistance(wanted, found)).toBe(distance)
  })

  it('are at most a third away', () => {
    expect(nearest('selector', ['select', 'path'])).toBe('select')
    expect(nearest('zzz', ['select', 'path'])).toBeNull()
  })
})

it('a file that changes, appears or goes away is noticed, and a stop ends the wait', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-watch-'))
  try {
    const [one, two] = [join(dir, 'one.ts'), join(dir, 'two.ts')]
    writeFileSync(one, 'a')
    const stamps = await stampsOf([one, two])
    const stop = new AbortController()
    const changed = untilChanged(stamps, systemClock, stop.signal)
    writeFileSync(two, 'new')
    expect(await changed).toBe(two)
    const gone = untilChanged(await stampsOf([one, two]), systemClock, stop.signal)
    rmSync(one)
    expect(await gone).toBe(one)
    const never = untilChanged(await stampsOf([two]), systemClock, stop.signal)
    stop.abort()
    expect(await never).toBeNull()
  } finally {
    rmSync(dir, { recursive: true })
  }
})
