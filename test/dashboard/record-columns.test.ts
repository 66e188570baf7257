import { describe, expect, it } from 'vitest'
import { fieldText, mostFilled } from '../../dashboard/src/views/record-columns.js'
import type { RecordView } from '../../src/api/api-types.js'
import type { Json } from '../../src/url/link.js'

const record = (data: Json): RecordView => ({
  ...{ spider: 's', site: 'a.example', kind: 'k', key: '1', url: 'http://a.example/', changedAt: 0 },
  data,
})

describe('columns of a preview', () => {
  it('are the fields that most records fill', () => {
    const records = [
      record({ a: 1, b: '', c: null }),
      record({ a: 2, b: 'x', d: 0 }),
      record({ b: 'y' }),
      record('text'),
    ]
    expect(mostFilled(records, 10)).toEqual(['a', 'b', 'd'])
    expect(mostFilled(records, 1)).toEqual(['a'])
  })

  it('show a value as text, cut, and nothing for what is no field', () => {
    expect(fieldText({ a: 'x'.repeat(1_000_000) }, 'a').length).toBeLessThan(300)
    expect(fieldText({ a: { b: [1] } }, 'a')).toBe('{"b":[1]}')
    expect(fieldText({ a: 1 }, 'constructor')).toBe('')
    expect(fieldText(['a'], '0')).toBe('')
    expect(fieldText(null, 'a')).toBe('')
  })
})
