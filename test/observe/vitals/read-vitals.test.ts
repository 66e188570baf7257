import { expect, it } from 'vitest'
import { parseVitals } from '../../../src/observe/vitals/read-vitals.js'
import { someVitals } from './some-vitals.js'

it('reads vitals of a version whose number of slots was fixed', () => {
  const { most: _most, because: _because, ...older } = someVitals({ slots: 32 })
  expect(parseVitals(JSON.stringify(older))).toEqual({ ...older, most: 32, because: 'most' })
})

it('reads vitals of a version that knows another reason for its number of slots', () => {
  const newer = { ...someVitals({ slots: 8, most: 64 }), because: 'temperature' }
  expect(parseVitals(JSON.stringify(newer))).toMatchObject({ slots: 8, most: 64, because: 'most' })
})

it('reads nothing from garbage', () => {
  expect([parseVitals('{'), parseVitals('{}'), parseVitals('null')]).toEqual([null, null, null])
})
