import { expect, it } from 'vitest'
import { sameSlotPrefix, slotOf } from '../../src/redis/slots.js'

it.each(['queue', 'shop:{books}', '{books}', 'a{b}c{d}', 'a{b'])(
  'keys that begin with the prefix of %j share its slot',
  (key) => {
    expect(slotOf(`${sameSlotPrefix(key)}:taken`)).toBe(slotOf(key))
  },
)
